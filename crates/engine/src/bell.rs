//! Claims that found nothing and wait, and what wakes them.
//!
//! A commit that leaves ready tasks in a queue rings that queue. In the next group the oldest
//! waiting claim that matches the queue – collection, flow and step, labels – is tried again; if it
//! is granted something the next one is tried too, and the first that finds nothing ends the ring.
//! So a ring costs one decision more than it grants, however many wait, and no work is left lying
//! beside a claim that could take it. What may open any queue (a hold lifted, room in the store
//! again, a commit that failed) tries every waiting claim once, in order.
//!
//! Who waits costs nothing until a ring or its deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use armarius_core::command::{Claim, Command};
use armarius_core::ids::QueueId;
use armarius_core::reply::Reply;
use armarius_core::rows::Queue;
use armarius_core::view::View;

use crate::options::PARKED_CLAIMS_MAX;
use crate::order::{Order, Park};

/// The waiting claims and the queues that were rung.
#[derive(Default)]
pub(crate) struct Bell {
    parked: BTreeMap<u64, Order>,
    deadlines: BTreeSet<(Duration, u64)>,
    next_place: u64,
    rung: BTreeSet<QueueId>,
    /// The next place to be tried, while everyone is.
    round: Option<u64>,
}

/// Why a claim is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// A queue got work.
    Queue(QueueId),
    /// Everyone is tried once.
    Round,
}

impl Bell {
    /// Lets a claim wait. It keeps the place it had before; with too many waiting, or when its time
    /// is over, it is answered at once.
    pub(crate) fn park(&mut self, mut order: Order, now: Duration) {
        if self.parked.len() >= PARKED_CLAIMS_MAX {
            self.clear_left();
        }
        let full = self.parked.len() >= PARKED_CLAIMS_MAX;
        match &mut order.park {
            Some(park) if park.until > now && !full && !has_left(park) => {
                let place = *park.place.get_or_insert_with(|| {
                    self.next_place += 1;
                    self.next_place
                });
                self.deadlines.insert((park.until, place));
                self.parked.insert(place, order);
            }
            Some(_) | None => order.answer.give(Ok(Reply::Claimed(None))),
        }
    }

    /// Rings for what the view is about to have committed.
    pub(crate) fn listen(&mut self, view: &View) {
        if self.parked.is_empty() {
            self.rung.clear();
        }
        for (queue, _, entry) in view.ready.changes() {
            if entry.is_some() {
                self.rung.insert(*queue);
            }
        }
        // A new version may ask for other labels, a singleton may be free again.
        for (flow, _) in view.flows.changes() {
            let queues = view.queues.iter().filter(|(_, q)| q.flow == *flow);
            self.rung.extend(queues.map(|(id, _)| *id));
        }
        if view.holds.changes().any(|(_, hold)| hold.is_none()) {
            self.ring_everyone();
        }
    }

    /// Tries every waiting claim once.
    pub(crate) fn ring_everyone(&mut self) {
        self.round = Some(0);
    }

    /// Whether somebody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.parked.len()
    }

    /// Whether a claim is to be tried again.
    pub(crate) fn is_rung(&self) -> bool {
        !self.parked.is_empty() && (self.round.is_some() || !self.rung.is_empty())
    }

    /// The next claim to be tried again, and why.
    pub(crate) fn next(&mut self, view: &View) -> Option<(Ring, Order)> {
        if let Some(from) = self.round {
            if let Some(place) = self.parked.range(from..).next().map(|(p, _)| *p) {
                self.round = Some(place + 1);
                return Some((Ring::Round, self.take(place)?));
            }
            self.round = None;
        }
        while let Some(queue) = self.rung.first().copied() {
            if let Some(place) = self.first_match(queue, view) {
                return Some((Ring::Queue(queue), self.take(place)?));
            }
            self.rung.remove(&queue);
        }
        None
    }

    /// A claim that was tried found nothing: the ring ends.
    pub(crate) fn found_nothing(&mut self, ring: Ring) {
        match ring {
            Ring::Queue(queue) => {
                self.rung.remove(&queue);
            }
            Ring::Round => {}
        }
    }

    /// Answers those whose time is over; says whether there were any.
    pub(crate) fn expire(&mut self, now: Duration) -> bool {
        let before = self.parked.len();
        while let Some((until, place)) = self.deadlines.first().copied() {
            if until > now {
                break;
            }
            if let Some(order) = self.take(place) {
                order.answer.give(Ok(Reply::Claimed(None)));
            }
        }
        self.parked.len() < before
    }

    /// When the first one's time is over.
    pub(crate) fn first_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// Answers everyone: there is no work.
    pub(crate) fn send_home(&mut self) {
        self.deadlines.clear();
        for (_, order) in std::mem::take(&mut self.parked) {
            order.answer.give(Ok(Reply::Claimed(None)));
        }
    }

    fn take(&mut self, place: u64) -> Option<Order> {
        let order = self.parked.remove(&place)?;
        if let Some(park) = &order.park {
            self.deadlines.remove(&(park.until, place));
        }
        Some(order)
    }

    fn first_match(&mut self, id: QueueId, view: &View) -> Option<u64> {
        let queue = view.queues.get(&id).ok().flatten()?;
        let fits = |order: &Order| {
            !order.park.as_ref().is_some_and(has_left)
                && matches!(&order.request.command, Command::Claim(c) if fits(c, queue, view))
        };
        self.parked.iter().find(|(_, order)| fits(order)).map(|(place, _)| *place)
    }

    fn clear_left(&mut self) {
        let left = |order: &Order| order.park.as_ref().is_some_and(has_left);
        let gone: Vec<u64> = self.parked.iter().filter(|(_, o)| left(o)).map(|(p, _)| *p).collect();
        for place in gone {
            drop(self.take(place));
        }
    }
}

fn has_left(park: &Park) -> bool {
    park.left.load(Ordering::Relaxed)
}

/// Whether a claim could take from a queue, as far as names, labels and ways say.
fn fits(claim: &Claim, queue: &Queue, view: &View) -> bool {
    let named = |wanted: &[armarius_core::text::Name]| {
        let collection = view.collections.get(&queue.collection).ok().flatten();
        collection.is_some_and(|c| wanted.contains(&c.name))
    };
    let stepped = || {
        let flow = view.flows.get(&queue.flow).ok().flatten();
        flow.is_some_and(|f| claim.steps.iter().any(|(n, s)| *n == f.name && *s == queue.step))
    };
    queue.labels.iter().all(|l| claim.labels.contains(l))
        && (claim.ways.is_empty() || claim.ways.contains(&queue.way))
        && (claim.collections.is_empty() || named(&claim.collections))
        && (claim.steps.is_empty() || stepped())
}
