//! Ready tasks whose time has come enter their queues.
//! Interval: when the first is due. Limit: the rules' `DUTY_ROWS_MAX` tasks at a time. Command:
//! `Wake`.

use armarius_core::ids::Time;
use armarius_core::view::{Stop, View};

pub(super) fn is_due(view: &View, now: Time) -> Result<bool, Stop> {
    Ok(next(view)?.is_some_and(|due| due <= now))
}

pub(super) fn next(view: &View) -> Result<Option<Time>, Stop> {
    Ok(view.timers.first(&(), 1)?.next().map(|((due, _), ())| *due))
}
