//! Which destinations are due, and whose hands they are in.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_core::ids::Time;
use armarius_core::text::Text;
use armarius_core::view::{Need, View};
use armarius_engine::clock::{Clock as _, SystemClock};
use armarius_engine::{EngineError, Handle, Stage};

use super::delivery::Deliverer;

/// How often it is noticed that something was committed.
const NOTICE_EVERY: Duration = Duration::from_millis(100);
/// How often the store is asked although nothing was committed here: another server may have.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Destinations one look takes.
const DUE_MAX: usize = 256;

/// The round of a postman.
pub(super) struct Round {
    handle: Handle,
    bag: Mutex<Bag>,
    changed: Condvar,
}

#[derive(Default)]
struct Bag {
    /// Destinations that are due and in nobody's hands.
    due: VecDeque<Text>,
    /// Those that are due or in somebody's hands.
    known: BTreeSet<Text>,
    closed: bool,
}

impl Round {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle, bag: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn close(&self) {
        self.bag().closed = true;
        self.changed.notify_all();
    }

    /// Looks which destinations are due until the round is closed.
    pub(super) fn look_out(&self) {
        let (mut commits, mut looked, mut next_due) = (None, None::<Instant>, None::<Time>);
        while !self.rest(NOTICE_EVERY) {
            if !matches!(self.handle.stage(), Stage::Running) {
                return;
            }
            let seen = Some(self.handle.stats().commits);
            let is_news = seen != commits || next_due.is_some_and(|due| due <= now());
            if !is_news && looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
                continue;
            }
            commits = seen;
            looked = Some(Instant::now());
            // A store that cannot be asked now is asked again.
            if let Ok(due) = self.ask() {
                next_due = self.take_in(due);
            }
        }
    }

    /// Destinations with letters, by the moment they are due.
    fn ask(&self) -> Result<Vec<(Time, Text)>, EngineError> {
        self.handle.question(|reader| {
            let mut view = View::new(0);
            reader.look(&[Need::DueLetters((), None, DUE_MAX)], &mut view, false)?;
            let due = view.due_letters.first(&(), DUE_MAX);
            let due = due.map(|due| due.take(DUE_MAX).map(|(key, ())| key.clone()).collect());
            Ok(due.unwrap_or_default())
        })
    }

    /// Puts what is due into the bag, and says when the next is.
    fn take_in(&self, due: Vec<(Time, Text)>) -> Option<Time> {
        let now = now();
        let mut bag = self.bag();
        let mut next = None;
        for (at, to) in due {
            if at > now {
                next = Some(next.map_or(at, |next: Time| next.min(at)));
            } else if bag.known.insert(to.clone()) {
                bag.due.push_back(to);
                self.changed.notify_one();
            }
        }
        next
    }

    /// Serves one destination after another until the round is closed.
    pub(super) fn serve(&self, deliverer: &Deliverer) {
        while let Some(to) = self.next() {
            deliverer.serve(&to, || self.bag().closed);
            self.bag().known.remove(&to);
        }
    }

    fn next(&self) -> Option<Text> {
        let mut bag = self.bag();
        loop {
            if bag.closed {
                return None;
            }
            if let Some(to) = bag.due.pop_front() {
                return Some(to);
            }
            bag = self.changed.wait(bag).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Rests; says whether the round is closed.
    fn rest(&self, span: Duration) -> bool {
        let bag = self.bag();
        if bag.closed {
            return true;
        }
        let waited = self.changed.wait_timeout(bag, span);
        waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }

    fn bag(&self) -> MutexGuard<'_, Bag> {
        self.bag.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Round")
    }
}

/// The time of day, as letters are due by it.
pub(super) fn now() -> Time {
    SystemClock::default().wall()
}
