//! What wakes claims that wait: each lane has a bell.
//!
//! A commit that leaves ready tasks in a queue rings that queue. In the next group the oldest
//! waiting claim that matches the queue – collection, flow and step, labels – is tried again; if it
//! is granted something the next one is tried too, and the first that finds nothing ends the ring.
//! So a ring costs one decision more than it grants, however many wait, and no work is left lying
//! beside a claim that could take it. What may open any queue (a hold lifted, room in the store
//! again, a commit that failed) tries every waiting claim once, in order.
//!
//! Who waits costs nothing until a ring or its deadline.

use std::collections::BTreeSet;
use std::sync::Arc;

use armarius_core::command::{Claim, Command};
use armarius_core::ids::QueueId;
use armarius_core::rows::Queue;
use armarius_core::task::State;
use armarius_core::view::View;

use crate::hall::Hall;
use crate::order::Order;

/// The queues of a lane that were rung.
pub(crate) struct Bell {
    hall: Arc<Hall>,
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
    /// A bell that is heard in this hall.
    pub(crate) fn new(hall: Arc<Hall>) -> Self {
        Self { hall, rung: BTreeSet::new(), round: None }
    }

    /// Where the claims wait.
    pub(crate) fn hall(&self) -> &Hall {
        &self.hall
    }

    /// Rings for what the view is about to have committed.
    pub(crate) fn listen(&mut self, view: &View) {
        if self.hall.is_empty() {
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

    /// Somebody else committed, and nobody here heard what: rings every queue that has tasks.
    pub(crate) fn ring_open(&mut self, view: &View) {
        let open = view.queues.iter().filter(|(_, q)| q.counts[State::Ready.index()] > 0);
        self.rung.extend(open.map(|(id, _)| *id));
    }

    /// Tries every waiting claim once.
    pub(crate) fn ring_everyone(&mut self) {
        self.round = Some(0);
    }

    /// Whether a claim is to be tried again.
    pub(crate) fn is_rung(&self) -> bool {
        (self.round.is_some() || !self.rung.is_empty()) && !self.hall.is_empty()
    }

    /// The next claim to be tried again, and why.
    pub(crate) fn next(&mut self, view: &View) -> Option<(Ring, Order)> {
        if self.round.is_none() && self.rung.is_empty() {
            return None;
        }
        let mut seats = self.hall.enter();
        if let Some(from) = self.round {
            if let Some(place) = seats.first(from, |_| true) {
                self.round = Some(place + 1);
                return Some((Ring::Round, seats.take(place)?));
            }
            self.round = None;
        }
        while let Some(id) = self.rung.first().copied() {
            if let Ok(Some(queue)) = view.queues.get(&id) {
                let like = |order: &Order| {
                    let command = &order.request.command;
                    matches!(command, Command::Claim(claim) if fits(claim, queue, view))
                };
                if let Some(place) = seats.first(0, like) {
                    return Some((Ring::Queue(id), seats.take(place)?));
                }
            }
            self.rung.remove(&id);
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
