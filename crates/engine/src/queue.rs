//! The bounded lines between the handles and the lane.
//!
//! A line is full when it holds too many commands or too much text; then a sender waits or is told
//! `busy`. What the lane has taken out but not yet decided still counts, so that the bound holds
//! for everything that waits. A bulk enters whole when there is any room: a line is overdrawn by
//! one bulk at most.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::error::{EngineError, busy};
use crate::exit::Fatal;
use crate::options::LINE_BYTES_MAX;
use crate::order::Order;
use crate::urgency::Urgency;

/// How many lines there are.
pub(crate) const LINES: usize = Urgency::ALL.len();

/// The lines, shared by all handles and the lane.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    /// Rung for the lane.
    news: Condvar,
    /// Rung for senders who wait for room.
    room: Condvar,
    line_commands_max: usize,
}

struct Inner {
    lines: [VecDeque<Order>; LINES],
    loads: [Load; LINES],
    stage: Stage,
    /// A commit under way has ended, and the lane has not looked yet.
    landed: bool,
    lane_sleeps: bool,
    /// The lane should take a turn, even if nothing came.
    roused: bool,
    senders_wait: usize,
}

/// What waits in one line, also what the lane has taken out and not yet decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) commands: usize,
    pub(crate) bytes: usize,
}

/// Whether the engine takes commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It does.
    Running,
    /// It answers what is waiting, and takes nothing new.
    Stopping,
    /// It has stopped as it was asked to.
    Stopped,
    /// It has stopped for good; the process should exit with the code.
    Failed(Fatal),
}

impl Queue {
    pub(crate) fn new(line_commands_max: usize) -> Self {
        let inner = Inner {
            lines: Default::default(),
            loads: Default::default(),
            stage: Stage::Running,
            landed: false,
            lane_sleeps: false,
            roused: false,
            senders_wait: 0,
        };
        Self {
            inner: Mutex::new(inner),
            news: Condvar::new(),
            room: Condvar::new(),
            line_commands_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts orders into a line, waiting for room no longer than `patience`. On an error the orders
    /// come back.
    pub(crate) fn push<I: IntoIterator<Item = Order>>(
        &self,
        urgency: Urgency,
        orders: I,
        patience: Duration,
    ) -> Result<(), (I, EngineError)> {
        let line = urgency.place();
        let mut inner = self.lock();
        let mut deadline = None;
        loop {
            if inner.stage != Stage::Running {
                return Err((orders, EngineError::Stopped));
            }
            let load = inner.loads[line];
            if load.commands < self.line_commands_max && load.bytes < LINE_BYTES_MAX {
                break;
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err((orders, busy()));
            }
            inner.senders_wait += 1;
            inner = self.room.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
            inner.senders_wait -= 1;
        }
        for order in orders {
            inner.loads[line].commands += 1;
            inner.loads[line].bytes += order.bytes;
            inner.lines[line].push_back(order);
        }
        if inner.lane_sleeps {
            inner.lane_sleeps = false;
            self.news.notify_one();
        }
        Ok(())
    }

    /// Forgets what the lane has decided, waits until something arrives, a commit under way has
    /// ended, the engine is told to stop, or the clock shows `until`, and moves what arrived to the
    /// lane's own lines. Says whether somebody wants the lane to take a turn in any case.
    pub(crate) fn take(
        &self,
        own: &mut [VecDeque<Order>; LINES],
        decided: [Load; LINES],
        until: Duration,
        clock: &dyn Clock,
    ) -> bool {
        let mut inner = self.lock();
        for (load, decided) in inner.loads.iter_mut().zip(decided) {
            load.commands -= decided.commands;
            load.bytes -= decided.bytes;
        }
        if inner.senders_wait > 0 {
            self.room.notify_all();
        }
        loop {
            let waiting = inner.lines.iter().any(|l| !l.is_empty());
            let told = inner.landed || inner.roused || inner.stage != Stage::Running;
            if waiting || told || clock.now() >= until {
                break;
            }
            inner.lane_sleeps = true;
            inner = match clock.nap(until) {
                Some(nap) => {
                    self.news.wait_timeout(inner, nap).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.news.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
        }
        inner.lane_sleeps = false;
        for (own, line) in own.iter_mut().zip(&mut inner.lines) {
            if own.is_empty() {
                std::mem::swap(own, line);
            } else {
                own.append(line);
            }
        }
        std::mem::take(&mut inner.roused)
    }

    /// Makes the lane take a turn.
    pub(crate) fn rouse(&self) {
        let mut inner = self.lock();
        inner.roused = true;
        inner.lane_sleeps = false;
        self.news.notify_one();
    }

    /// Wakes the lane because a commit under way has ended.
    pub(crate) fn land(&self) {
        let mut inner = self.lock();
        inner.landed = true;
        if inner.lane_sleeps {
            inner.lane_sleeps = false;
            self.news.notify_one();
        }
    }

    /// The lane has seen that its commit has ended.
    pub(crate) fn seen_landing(&self) {
        self.lock().landed = false;
    }

    /// Whether a commit under way has ended.
    pub(crate) fn has_landed(&self) -> bool {
        self.lock().landed
    }

    /// Wakes the lane to look at its clock again.
    pub(crate) fn nudge(&self) {
        // Under the lock: the lane is either before its look at the clock, or asleep.
        let _inner = self.lock();
        self.news.notify_one();
    }

    /// Takes nothing new from now on.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        if inner.stage == Stage::Running {
            inner.stage = Stage::Stopping;
        }
        self.news.notify_one();
        self.room.notify_all();
    }

    /// The lane is gone: whoever still waits is told so.
    pub(crate) fn end(&self, stage: Stage) {
        let mut inner = self.lock();
        inner.stage = stage;
        let left = std::mem::take(&mut inner.lines);
        self.room.notify_all();
        // Replies are called by the drop, and may ask again: not under the lock.
        drop(inner);
        drop(left);
    }

    pub(crate) fn stage(&self) -> Stage {
        self.lock().stage.clone()
    }

    pub(crate) fn loads(&self) -> [Load; LINES] {
        self.lock().loads
    }
}
