//! Schedules: which of the slots that have come are fired, each at most once.
//!
//! The calendar itself (cron, time zone, daylight saving) is read by the engine, which passes the
//! slots as facts; what is done about them is decided here.

use super::desk::{Desk, Fact, Rule, SCHEDULE_FIRED, SCHEDULE_SKIPPED};
use super::moves::Move;
use super::plan::Opening;
use crate::flow::{Missed, Overlap};
use crate::ids::{ItemId, ScheduleId, Span, TaskId, Time};
use crate::limits::DUTY_ROWS_MAX;
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{RoundKey, RoundStatus, Schedule};
use crate::task::{Cause, State, Verb};
use crate::text::{Name, Text};

/// A slot that is seen within this time has not been missed.
const ON_TIME: Span = Span::seconds(60);

pub(super) fn fire(desk: &mut Desk<'_>, id: ScheduleId, slots: &[Time]) -> Rule<Reply> {
    let Some(row) = desk.view.schedules.get(&id)?.cloned() else {
        return Err(Refusal::new(Code::NoSuchSchedule, format!("there is no schedule {id}"))
            .hint("it may have been removed with its flow")
            .into());
    };
    let now = desk.now();
    // Slots come from whoever looked at the calendar; doing it twice must be harmless.
    let fresh: Vec<Time> = {
        let due = slots.iter().filter(|s| **s > row.last_slot && **s <= now);
        due.take(DUTY_ROWS_MAX).copied().collect()
    };
    let Some(newest) = fresh.last().copied().filter(|_| !row.removed) else {
        return Ok(Reply::Duty { did: 0, more: false });
    };
    let wanted: Vec<Time> = match row.calendar.missed {
        Missed::All => fresh.clone(),
        Missed::Latest => vec![newest],
        Missed::Skip => Some(newest).filter(|s| s.plus(ON_TIME) >= now).into_iter().collect(),
    };
    let mut row = Schedule { last_slot: newest, ..row };
    let mut did = 0;
    for slot in &fresh {
        if wanted.contains(slot) {
            did += usize::from(open(desk, &mut row, *slot)?);
        } else {
            tell(desk, &row, &SCHEDULE_SKIPPED, *slot, "missed")?;
        }
    }
    desk.view.schedules.put(id, row);
    Ok(Reply::Duty { did, more: slots.len() > DUTY_ROWS_MAX })
}

/// Opens the round of a slot, unless the previous one is in the way.
fn open(desk: &mut Desk<'_>, row: &mut Schedule, slot: Time) -> Rule<bool> {
    if row.last_round > 0 && previous_is_open(desk, row)? {
        match row.calendar.overlap {
            Overlap::Allow => {}
            Overlap::Skip => {
                tell(desk, row, &SCHEDULE_SKIPPED, slot, "the previous slot is at work")?;
                return Ok(false);
            }
            Overlap::Replace => replace(desk, row)?,
        }
    }
    let version = desk.flow(row.flow)?.version;
    row.item = place_of(desk, row)?;
    let opening = Opening {
        item: row.item,
        flow: row.flow,
        version,
        payload: format!("{{\"slot_us\":{}}}", slot.0).into(),
        priority: desk.item(row.item)?.priority,
        not_before: Time::ZERO,
        parts: vec![Text::from("")],
        batch: None,
        fingerprint: Text::from(""),
        depth: 0,
        depends: Vec::new(),
        commit: None,
    };
    let (round, _) = desk.open_round(opening)?;
    row.last_round = round;
    tell(desk, row, &SCHEDULE_FIRED, slot, "")?;
    Ok(true)
}

/// Where the round of a slot takes place: in an archive on its newest planned revision, elsewhere
/// on the schedule's own item.
fn place_of(desk: &Desk<'_>, row: &Schedule) -> Rule<ItemId> {
    let home = desk.flow(row.flow)?.collection;
    let Some(archive) = desk.view.archives.get(&home)? else { return Ok(row.item) };
    let at = super::revision_address(&desk.collection(home)?.name, archive.planned);
    Ok(desk.find_item(&at)?.unwrap_or(row.item))
}

fn previous_is_open(desk: &Desk<'_>, row: &Schedule) -> Rule<bool> {
    let key = RoundKey { item: row.item, flow: row.flow, round: row.last_round };
    if let Some(round) = desk.view.rounds.get(&key)? {
        return Ok(round.status() == RoundStatus::Open);
    }
    for task in round_tasks(desk, row)? {
        if !desk.task(task)?.state.is_settled() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The previous round gives way to the one that opens now.
fn replace(desk: &mut Desk<'_>, row: &Schedule) -> Rule<()> {
    for task in round_tasks(desk, row)? {
        if !desk.task(task)?.state.is_settled() {
            let mv = Move::new(Verb::Skip, State::Cancelled).because(Cause::Skipped);
            desk.end(task, mv.detail(Some("replaced by the next slot".into())))?;
        }
    }
    Ok(())
}

fn round_tasks(desk: &Desk<'_>, row: &Schedule) -> Rule<Vec<TaskId>> {
    let queues = desk.view.queues.iter().filter(|(_, q)| q.flow == row.flow);
    let mut tasks = Vec::new();
    for (queue, _) in queues {
        let key = crate::rows::TaskKey {
            item: row.item,
            queue: *queue,
            part: Text::from(""),
            round: row.last_round,
        };
        tasks.extend(desk.view.task_keys.get(&key)?.copied());
    }
    Ok(tasks)
}

fn tell(desk: &mut Desk<'_>, row: &Schedule, name: &Name, slot: Time, why: &str) -> Rule<()> {
    let detail = serde_json::json!({ "slot_us": slot.0, "why": why });
    let fact = Fact {
        name: Some(name.clone()),
        detail: Some(detail.to_string().into()),
        ..Fact::default()
    };
    desk.append(row.item, fact).map(|_| ())
}
