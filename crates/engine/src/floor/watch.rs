//! Looks at all shards at once: for claims that found nothing, for work and duties that other
//! engines left.
//!
//! One question for all shards, a few times a second while somebody waits and once a second
//! otherwise, each a little earlier or later so that engines do not march in step. A lane is woken
//! only when the look shows something for it: nobody takes a lock to find out that there is nothing
//! to do.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Floor, told};
use crate::chance::{Chance, OsChance};
use crate::options::{HEAR_PAUSE, LOOK_IDLE, LOOK_WAITING};
use crate::order::Order;
use crate::seam::{Atlas, Signals};

/// How long one wait for news lasts: so long may stopping take.
const EAR_PATIENCE: Duration = Duration::from_millis(200);

/// What the watch is asked for.
#[derive(Default)]
pub(super) struct Watch {
    inner: Mutex<Inner>,
    news: Condvar,
}

#[derive(Default)]
struct Inner {
    /// Claims that wait for a look.
    asking: Vec<Order>,
    /// The database told of commits.
    heard: bool,
    closed: bool,
}

impl Watch {
    /// A claim wants a look at all shards before it believes that there is nothing.
    pub(super) fn ask(&self, order: Order) {
        let mut inner = self.lock();
        if inner.closed {
            drop(inner);
            return crate::hall::answer([order]);
        }
        inner.asking.push(order);
        self.news.notify_one();
    }

    pub(super) fn nudge(&self) {
        let _inner = self.lock();
        self.news.notify_one();
    }

    fn hear(&self) {
        self.lock().heard = true;
        self.news.notify_one();
    }

    /// Takes nothing new; gives back those who ask.
    pub(super) fn close(&self) -> Vec<Order> {
        let mut inner = self.lock();
        inner.closed = true;
        self.news.notify_all();
        std::mem::take(&mut inner.asking)
    }

    fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a look is due or asked for; `None` when the engine stops.
    fn wait(&self, due: Duration, heard_from: Duration, floor: &Floor) -> Option<()> {
        let mut inner = self.lock();
        loop {
            if inner.closed {
                return None;
            }
            let now = floor.clock.now();
            let heard = inner.heard && !floor.hall.is_empty();
            if !inner.asking.is_empty() || now >= due || (heard && now >= heard_from) {
                inner.heard = false;
                return Some(());
            }
            let mut until = if heard { due.min(heard_from) } else { due };
            if let Some(deadline) = floor.hall.first_deadline() {
                if deadline <= now {
                    drop(inner);
                    floor.hall.expire(now);
                    inner = self.lock();
                    continue;
                }
                until = until.min(deadline);
            }
            inner = match floor.clock.nap(until) {
                Some(nap) => {
                    self.news.wait_timeout(inner, nap).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.news.wait(inner).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Watches over all shards until the engine stops.
pub(crate) fn run(floor: &Floor, mut atlas: Box<dyn Atlas>) {
    let mut chance = OsChance::default();
    let (mut due, mut heard_from) = (Duration::ZERO, Duration::ZERO);
    while floor.watch.wait(due, heard_from, floor).is_some() {
        look(floor, atlas.as_mut());
        let now = floor.clock.now();
        floor.hall.expire(now);
        let pause = if floor.hall.is_empty() { LOOK_IDLE } else { LOOK_WAITING };
        due = now + jittered(pause, &mut chance);
        heard_from = now + HEAR_PAUSE;
    }
}

/// One look at all shards.
fn look(floor: &Floor, atlas: &mut dyn Atlas) {
    // Whoever asks from now on is answered by the next look.
    let number = floor.board().begin_look();
    let asking = std::mem::take(&mut floor.watch.lock().asking);
    let found = atlas.heads();
    let clock = floor.clock.now();
    match found {
        Ok(heads) => {
            let somebody_waits = !floor.hall.is_empty();
            let wake = floor.board().looked(number, &heads, clock, somebody_waits);
            for shard in wake {
                if let Some(lane) = floor.lanes.get(usize::from(shard)) {
                    lane.queue.rouse();
                }
            }
            for order in asking {
                floor.found_nothing(order, None);
            }
        }
        Err(error) => {
            floor.board().lost(clock);
            let error = told(error);
            for order in asking {
                order.answer.give(Err(error.clone()));
            }
        }
    }
}

/// Up to a fifth sooner, so that many engines do not march in step.
fn jittered(pause: Duration, chance: &mut dyn Chance) -> Duration {
    let part = chance.draw().map_or(0, |bits| u32::try_from(bits % 200).unwrap_or(0));
    pause - pause * part / 1_000
}

/// Listens for news of commits until the engine stops.
pub(crate) fn listen(floor: &Floor, mut signals: Box<dyn Signals>) {
    while !floor.watch.is_closed() {
        match signals.wait(EAR_PATIENCE) {
            Ok(shards) if shards.is_empty() => {}
            Ok(_) => floor.watch.hear(),
            // Polling stands behind it.
            Err(_) => std::thread::sleep(EAR_PATIENCE),
        }
    }
}
