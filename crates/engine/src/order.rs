//! A command on its way to the lane, and the way its answer takes back.
//!
//! Everybody is answered: an [`Answer`] that is dropped – because the lane stopped, or broke – says
//! [`EngineError::Stopped`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::refusal::Refusal;
use armarius_core::text::{Name, Text};

use crate::error::{EngineError, Outcome};
use crate::urgency;

/// A command and who asks.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks, as authenticated.
    pub actor: Name,
    /// The caller's key: the same key never makes a second thing.
    pub idem: Option<Text>,
    /// What is asked.
    pub command: Command,
}

/// What is done with an outcome. Called on the lane's thread: it must be short and never wait.
pub type OnReply = Box<dyn FnOnce(Outcome) + Send>;

/// What is done with the outcomes of a bulk, in the order of its commands.
pub type OnReplies = Box<dyn FnOnce(Vec<Outcome>) + Send>;

/// A request on its way.
pub(crate) struct Order {
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// For a claim that waits for work.
    pub(crate) park: Option<Park>,
    /// For a claim that is tried in several shards.
    pub(crate) tour: Option<Box<Tour>>,
    /// Text it carries.
    pub(crate) bytes: usize,
}

impl Order {
    pub(crate) fn new(request: Request, answer: Answer, park: Option<Park>) -> Self {
        let bytes = urgency::text_bytes(&request.command);
        Self { request, answer, park, tour: None, bytes }
    }
}

/// How long a claim waits, and its place among those that wait.
pub(crate) struct Park {
    pub(crate) until: Duration,
    /// Given when it is parked first; kept when it is parked again.
    pub(crate) place: Option<u64>,
    pub(crate) left: Arc<AtomicBool>,
}

/// A claim's way through the shards.
#[derive(Debug)]
pub(crate) struct Tour {
    /// Only these shards; all when `None`.
    pub(crate) shards: Option<Vec<u16>>,
    /// The ring of each shard when it was tried there, 0 when it was not.
    pub(crate) tried: Vec<u64>,
    /// Shards that were in use when it came by.
    pub(crate) skipped: Vec<u16>,
    /// It waits also for shards that are in use: nothing else is left.
    pub(crate) patient: bool,
    /// Looks at all shards that had begun when it came.
    pub(crate) came: u64,
    /// A robot it asked for is busy somewhere: what it is told if nothing else is found.
    pub(crate) busy: Option<Refusal>,
}

impl Tour {
    /// The shard is in use: to be tried later.
    pub(crate) fn skip(&mut self, shard: u16) {
        self.skipped.push(shard);
        if let Some(tried) = self.tried.get_mut(usize::from(shard)) {
            *tried = 0;
        }
    }
}

/// A waiting claim's seat. Dropping it gives the seat up: the claim is granted nothing any more.
///
/// A grant that was already on its way still reaches the reply, which should then give it back.
#[derive(Debug)]
pub struct Seat(Arc<AtomicBool>);

impl Seat {
    pub(crate) fn new() -> (Self, Arc<AtomicBool>) {
        let left = Arc::new(AtomicBool::new(false));
        (Self(Arc::clone(&left)), left)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The way an outcome takes back; used once.
pub(crate) struct Answer(Option<Way>);

enum Way {
    One(OnReply),
    Many(Arc<Tray>, usize),
}

impl Answer {
    pub(crate) fn one(reply: OnReply) -> Self {
        Self(Some(Way::One(reply)))
    }

    pub(crate) fn give(mut self, outcome: Outcome) {
        self.send(outcome);
    }

    fn send(&mut self, outcome: Outcome) {
        match self.0.take() {
            // A reply that panics is its caller's loss, not the lane's.
            Some(Way::One(reply)) => drop(catch_unwind(AssertUnwindSafe(|| reply(outcome)))),
            Some(Way::Many(tray, place)) => tray.lay(place, outcome),
            None => {}
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.send(Err(EngineError::Stopped));
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer")
    }
}

/// Collects the outcomes of a bulk, so that its caller is woken once.
pub(crate) struct Tray(Mutex<Laid>);

struct Laid {
    outcomes: Vec<Outcome>,
    left: usize,
    reply: Option<OnReplies>,
}

impl Tray {
    /// A tray for `count` outcomes, and the answers that fill it.
    pub(crate) fn with_answers(
        count: usize,
        reply: OnReplies,
    ) -> impl Iterator<Item = Answer> + use<> {
        let outcomes = vec![Err(EngineError::Stopped); count];
        let laid = Laid { outcomes, left: count, reply: Some(reply) };
        let tray = Arc::new(Self(Mutex::new(laid)));
        (0..count).map(move |place| Answer(Some(Way::Many(Arc::clone(&tray), place))))
    }

    fn lay(&self, place: usize, outcome: Outcome) {
        let mut laid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = laid.outcomes.get_mut(place) {
            *slot = outcome;
        }
        laid.left -= 1;
        if laid.left > 0 {
            return;
        }
        let reply = laid.reply.take();
        let outcomes = std::mem::take(&mut laid.outcomes);
        // The reply may do anything, also ask again: not under the lock.
        drop(laid);
        if let Some(reply) = reply {
            drop(catch_unwind(AssertUnwindSafe(|| reply(outcomes))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use armarius_core::reply::Reply;

    use super::*;

    #[test]
    fn a_dropped_answer_says_stopped() {
        let (tx, rx) = mpsc::channel();
        drop(Answer::one(Box::new(move |o| tx.send(o).unwrap())));
        assert_eq!(rx.recv().unwrap(), Err(EngineError::Stopped));
    }

    #[test]
    fn a_tray_is_handed_over_when_it_is_full() {
        let (tx, rx) = mpsc::channel();
        let reply: OnReplies = Box::new(move |o| tx.send(o).unwrap());
        let mut answers: Vec<Answer> = Tray::with_answers(3, reply).collect();
        answers.pop().unwrap().give(Ok(Reply::Ok));
        answers.pop();
        assert!(rx.try_recv().is_err());
        answers.pop().unwrap().give(Ok(Reply::Ok));
        let stopped = Err(EngineError::Stopped);
        assert_eq!(rx.recv().unwrap(), [Ok(Reply::Ok), stopped, Ok(Reply::Ok)]);
    }
}
