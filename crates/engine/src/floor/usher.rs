//! Asks the database where things are, for callers that must not wait.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::{EngineError, busy};
use crate::order::Order;

/// Orders that wait to be sent where they belong, each bulk as one.
pub(super) struct Usher {
    inner: Mutex<Inner>,
    news: Condvar,
    orders_max: usize,
}

#[derive(Default)]
struct Inner {
    bulks: VecDeque<Vec<Order>>,
    orders: usize,
    closed: bool,
}

impl Usher {
    pub(super) fn new(orders_max: usize) -> Self {
        Self { inner: Mutex::default(), news: Condvar::new(), orders_max }
    }

    /// Hands a bulk over; what finds no room is answered at once.
    pub(super) fn hand(&self, orders: Vec<Order>) {
        let mut inner = self.lock();
        let error = if inner.closed {
            EngineError::Stopped
        } else if inner.orders >= self.orders_max {
            busy()
        } else {
            inner.orders += orders.len();
            inner.bulks.push_back(orders);
            self.news.notify_one();
            return;
        };
        drop(inner);
        for order in orders {
            order.answer.give(Err(error.clone()));
        }
    }

    /// Waits for the next bulk; `None` when there will be no more.
    pub(super) fn next(&self) -> Option<Vec<Order>> {
        let mut inner = self.lock();
        loop {
            if let Some(orders) = inner.bulks.pop_front() {
                inner.orders -= orders.len();
                return Some(orders);
            }
            if inner.closed {
                return None;
            }
            inner = self.news.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes no more; what waits is still done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
