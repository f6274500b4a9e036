//! Errands go on, piece by piece, ahead of submissions, until none is left.
//! Interval: none, as long as there are any. Limit: the errands' share of a group. Command:
//! `RunErrand`, the oldest first.

use std::time::Duration;

use armarius_core::ids::ErrandId;
use armarius_core::view::{Stop, View};

use crate::options::TICK;

/// Which errands are passed over because they got nowhere.
#[derive(Debug, Default)]
pub(super) struct Errands {
    after: Option<ErrandId>,
    until: Duration,
}

impl Errands {
    pub(super) fn next(&mut self, view: &View, clock: Duration) -> Result<Option<ErrandId>, Stop> {
        if self.until <= clock {
            self.after = None;
        }
        let mut errands = view.errands.after(&(), self.after.as_ref(), 1)?;
        Ok(errands.next().map(|(id, _)| *id))
    }

    /// Passes over this one, and those before it, until the next tick.
    pub(super) fn stuck(&mut self, errand: ErrandId, clock: Duration) {
        if self.after.is_none() {
            self.until = clock + TICK;
        }
        self.after = Some(errand);
    }

    /// Passes over all of them until the next tick.
    pub(super) fn taken_back(&mut self, clock: Duration) {
        self.until = clock + TICK;
        self.after = Some(ErrandId(i64::MAX));
    }
}
