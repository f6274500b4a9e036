//! Holds whose time is over end.
//! Interval: when the first is due; a hold set meanwhile is seen within a tick. Limit: the rules'
//! `DUTY_ROWS_MAX` holds at a time. Command: `ExpireHolds`.

use std::time::Duration;

use armarius_core::ids::Time;
use armarius_core::view::View;

use super::Moment;
use crate::options::TICK;

/// The next end of a hold, as of the last look through all of them.
#[derive(Debug, Default)]
pub(super) struct Holds {
    look_at: Duration,
    next: Option<Time>,
}

impl Holds {
    pub(super) fn is_due(&mut self, view: &View, at: Moment) -> bool {
        let came = self.next.is_some_and(|end| end <= at.now);
        if came || self.look_at <= at.clock {
            self.look_at = at.clock + TICK;
            self.next = view.holds.iter().filter_map(|(_, hold)| hold.until).min();
        }
        self.next.is_some_and(|end| end <= at.now)
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }
}
