//! Leases whose time is over end, and their tasks are ready again.
//! Interval: when the first is due. Limit: the rules' `DUTY_ROWS_MAX` leases at a time. Command:
//! `Expire`. A group decides it after the reports and renewals that were waiting.

use armarius_core::ids::Time;
use armarius_core::view::{Stop, View};

pub(super) fn is_due(view: &View, now: Time) -> Result<bool, Stop> {
    Ok(next(view)?.is_some_and(|due| due <= now))
}

pub(super) fn next(view: &View) -> Result<Option<Time>, Stop> {
    Ok(view.due_leases.first(&(), 1)?.next().map(|((due, _), ())| *due))
}
