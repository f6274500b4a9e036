//! Schedules whose slots have come fire.
//! Interval: when the first slot comes; a schedule made meanwhile is seen within a tick. Limit:
//! [`FIRE_SLOTS_MAX`] slots of a schedule, [`DUTY_ROWS_MAX`] schedules at a time. Command: `Fire`.
//!
//! A slot is known by its moment and dealt with once: the rules pass over slots up to the
//! schedule's last one, so two servers, or a clock that jumps, fire nothing twice.

use std::collections::BTreeMap;
use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::flow::{Calendar, Missed};
use armarius_core::ids::{ScheduleId, Time};
use armarius_core::limits::DUTY_ROWS_MAX;
use armarius_core::rows::Schedule;
use armarius_core::view::View;

use super::Moment;
use crate::calendar::{self, CalendarError};
use crate::options::TICK;

/// Slots one command deals with.
const FIRE_SLOTS_MAX: usize = 100;

/// The next slot of each schedule, as of the last look through all of them.
#[derive(Debug, Default)]
pub(super) struct Schedules {
    look_at: Duration,
    known: BTreeMap<ScheduleId, Known>,
    next: Option<Time>,
}

/// What a schedule's next slot was worked out from, and what it is.
#[derive(Debug)]
struct Known {
    last_slot: Time,
    calendar: Calendar,
    next: Option<Time>,
}

impl Schedules {
    pub(super) fn due(&mut self, view: &View, at: Moment) -> Vec<Command> {
        let came = self.next.is_some_and(|slot| slot <= at.now);
        if !came && self.look_at > at.clock {
            return Vec::new();
        }
        self.look_at = at.clock + TICK;
        self.known.retain(|id, _| view.schedules.get(id).is_ok_and(|row| row.is_some()));
        self.next = None;
        let mut fires = Vec::new();
        for (id, schedule) in view.schedules.iter().filter(|(_, s)| !s.removed) {
            let Some(slot) = self.next_slot(*id, schedule) else {
                continue;
            };
            self.next = Some(self.next.map_or(slot, |next| next.min(slot)));
            if slot <= at.now && fires.len() < DUTY_ROWS_MAX {
                // What cannot be worked out was refused when the flow was applied.
                let slots = passed(schedule, at.now).unwrap_or_default();
                fires.push(Command::Fire { schedule: *id, slots });
            }
        }
        fires
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.next
    }

    fn next_slot(&mut self, id: ScheduleId, schedule: &Schedule) -> Option<Time> {
        let fresh = self.known.get(&id).is_some_and(|known| {
            known.last_slot == schedule.last_slot && known.calendar == schedule.calendar
        });
        if !fresh {
            let next = calendar::next(&schedule.calendar, schedule.last_slot).ok().flatten();
            let calendar = schedule.calendar.clone();
            let known = Known { last_slot: schedule.last_slot, calendar, next };
            self.known.insert(id, known);
        }
        self.known.get(&id)?.next
    }
}

/// The slots that have come, oldest first. Where only the newest counts, those are taken when there
/// are too many; where each counts, the oldest are, and the rest follows with the next command.
fn passed(schedule: &Schedule, now: Time) -> Result<Vec<Time>, CalendarError> {
    let (calendar, after) = (&schedule.calendar, schedule.last_slot);
    match calendar.missed {
        Missed::All => calendar::slots(calendar, after, now, FIRE_SLOTS_MAX),
        Missed::Latest | Missed::Skip => calendar::newest(calendar, after, now, FIRE_SLOTS_MAX),
    }
}
