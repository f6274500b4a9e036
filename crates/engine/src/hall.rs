//! Where claims wait that found nothing: once for all lanes of an engine.
//!
//! A claim that is being tried is not here, so no two lanes can serve it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armarius_core::reply::Reply;

use crate::options::PARKED_CLAIMS_MAX;
use crate::order::{Order, Park};

/// The waiting claims, in the order they came.
#[derive(Default)]
pub(crate) struct Hall(Mutex<Seats>);

/// What is in the hall, while somebody has its key.
#[derive(Default)]
pub(crate) struct Seats {
    parked: BTreeMap<u64, Order>,
    deadlines: BTreeSet<(Duration, u64)>,
    next_place: u64,
    closed: bool,
}

impl Hall {
    /// Nothing comes or goes until the key is given back.
    pub(crate) fn enter(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a claim wait, as [`Seats::park`] does.
    pub(crate) fn park(&self, order: Order, now: Duration) {
        let sent_away = self.enter().park(order, now);
        answer(sent_away);
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.enter().parked.is_empty()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.enter().parked.len()
    }

    /// Answers those whose time is over; says whether there were any.
    pub(crate) fn expire(&self, now: Duration) -> bool {
        let mut over = Vec::new();
        let mut seats = self.enter();
        while let Some((until, place)) = seats.deadlines.first().copied() {
            if until > now {
                break;
            }
            over.extend(seats.take(place));
        }
        drop(seats);
        let any = !over.is_empty();
        answer(over);
        any
    }

    /// When the first one's time is over.
    pub(crate) fn first_deadline(&self) -> Option<Duration> {
        self.enter().deadlines.first().map(|(until, _)| *until)
    }

    /// Answers everyone: there is no work, and there will be none.
    pub(crate) fn send_home(&self) {
        let mut seats = self.enter();
        seats.closed = true;
        seats.deadlines.clear();
        let parked = std::mem::take(&mut seats.parked);
        drop(seats);
        answer(parked.into_values());
    }
}

impl Seats {
    /// Lets a claim wait. It keeps the place it had before; with too many waiting, or when its time
    /// is over, it comes back and is to be answered.
    pub(crate) fn park(&mut self, mut order: Order, now: Duration) -> Option<Order> {
        if self.parked.len() >= PARKED_CLAIMS_MAX {
            self.clear_left();
        }
        let full = self.closed || self.parked.len() >= PARKED_CLAIMS_MAX;
        match &mut order.park {
            Some(park) if park.until > now && !full && !has_left(park) => {
                let place = *park.place.get_or_insert_with(|| {
                    self.next_place += 1;
                    self.next_place
                });
                self.deadlines.insert((park.until, place));
                self.parked.insert(place, order);
                None
            }
            Some(_) | None => Some(order),
        }
    }

    /// The first one from a place on that is like this.
    pub(crate) fn first(&self, from: u64, like: impl Fn(&Order) -> bool) -> Option<u64> {
        let here = |order: &Order| !order.park.as_ref().is_some_and(has_left);
        let mut waiting = self.parked.range(from..);
        waiting.find(|(_, order)| here(order) && like(order)).map(|(place, _)| *place)
    }

    /// Takes one out.
    pub(crate) fn take(&mut self, place: u64) -> Option<Order> {
        let order = self.parked.remove(&place)?;
        if let Some(park) = &order.park {
            self.deadlines.remove(&(park.until, place));
        }
        Some(order)
    }

    fn clear_left(&mut self) {
        let left = |order: &Order| order.park.as_ref().is_some_and(has_left);
        let gone: Vec<u64> = self.parked.iter().filter(|(_, o)| left(o)).map(|(p, _)| *p).collect();
        for place in gone {
            drop(self.take(place));
        }
    }
}

/// Replies may do anything, also ask again: never with the key of the hall.
pub(crate) fn answer(orders: impl IntoIterator<Item = Order>) {
    for order in orders {
        order.answer.give(Ok(Reply::Claimed(None)));
    }
}

fn has_left(park: &Park) -> bool {
    park.left.load(Ordering::Relaxed)
}
