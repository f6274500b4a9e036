//! Schedules: what fires by itself, and when.

use std::collections::BTreeMap;

use armarius_core::flow::{Missed, Overlap};
use armarius_core::ids::{FlowId, QueueId, ScheduleId, TaskId, Time};
use armarius_core::rows::{self, TaskKey};
use armarius_core::text::Text;
use armarius_core::view::{Need, Stop, View};
use armarius_engine::calendar;
use armarius_wire::v1::schedule::Schedule;
use armarius_wire::v1::{Page, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Params, json};
use crate::keys::Caller;
use crate::look::{Look, Lost, item_address};
use crate::problem::Answer;

/// Which schedules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    collection: Option<String>,
}

/// `GET /api/v1/schedules`: those that fire first come first.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let now = super::now();
    let mut entries = app
        .look(move |look| {
            let all = look.view.schedules.iter().map(|(_, schedule)| schedule);
            let all: Vec<rows::Schedule> = all.filter(|s| !s.removed).cloned().collect();
            let needs = all.iter().filter_map(|s| look.view.items.missing(&s.item));
            let needs: Vec<Need> = needs.collect();
            look.load(&needs)?;
            let fired = fired(look, &all)?;
            look.ask(|view| {
                let mut shown = Vec::new();
                for schedule in &all {
                    let last = fired.get(&schedule.id).copied();
                    let Some(one) = show(view, schedule, last, now)? else { continue };
                    let is_wanted = wanted.collection.as_ref().is_none_or(|c| *c == one.collection);
                    if is_wanted && caller.may(&one.collection) {
                        shown.push(one);
                    }
                }
                Ok(shown)
            })
        })
        .await?;
    entries.sort_by(|a, b| (a.next.is_none(), &a.next).cmp(&(b.next.is_none(), &b.next)));
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

/// What is read of the payload of work that a schedule gave.
#[derive(Deserialize)]
struct Payload {
    slot_us: i64,
}

/// The slot of each schedule that fired last, as the work it gave says. The row's own slot moves
/// without firing, too: when it is missed, and when the calendar is a new one.
fn fired(
    look: &mut Look<'_>,
    schedules: &[rows::Schedule],
) -> Result<BTreeMap<ScheduleId, Time>, Lost> {
    let mut queues: BTreeMap<FlowId, Vec<QueueId>> = BTreeMap::new();
    for (id, queue) in look.view.queues.iter() {
        queues.entry(queue.flow).or_default().push(*id);
    }
    let mut keys = Vec::new();
    for schedule in schedules.iter().filter(|s| s.last_round > 0) {
        for queue in queues.get(&schedule.flow).into_iter().flatten().copied() {
            let (item, round) = (schedule.item, schedule.last_round);
            keys.push((schedule.id, TaskKey { item, queue, part: Text::from(""), round }));
        }
    }
    let needs: Vec<Need> =
        keys.iter().filter_map(|(_, key)| look.view.task_keys.missing(key)).collect();
    look.load(&needs)?;
    let task = |key| look.view.task_keys.get(key).ok().flatten().copied();
    let tasks: Vec<(ScheduleId, TaskId)> =
        keys.iter().filter_map(|(id, key)| Some((*id, task(key)?))).collect();
    let needs: Vec<Need> =
        tasks.iter().filter_map(|(_, task)| look.view.bodies.missing(task)).collect();
    look.load(&needs)?;
    let slot = |task| {
        let body = look.view.bodies.get(task).ok().flatten()?;
        serde_json::from_str(&body.payload).ok().map(|payload: Payload| Time(payload.slot_us))
    };
    Ok(tasks.iter().filter_map(|(id, task)| Some((*id, slot(task)?))).collect())
}

fn show(
    view: &View,
    schedule: &rows::Schedule,
    last: Option<Time>,
    now: Time,
) -> Result<Option<Schedule>, Stop> {
    let Some(flow) = view.flows.get(&schedule.flow)? else { return Ok(None) };
    let Some(home) = view.collections.get(&flow.collection)? else { return Ok(None) };
    let calendar = &schedule.calendar;
    // What cannot be read never fires; it was checked when the flow was applied.
    let next = calendar::next(calendar, schedule.last_slot.max(now)).ok().flatten();
    Ok(Some(Schedule {
        collection: home.name.to_string(),
        flow: flow.name.to_string(),
        item: item_address(view, schedule.item)?,
        cron: calendar.cron.to_string(),
        tz: calendar.tz.to_string(),
        missed: match calendar.missed {
            Missed::Latest => "latest",
            Missed::All => "all",
            Missed::Skip => "skip",
        }
        .to_owned(),
        overlap: match calendar.overlap {
            Overlap::Skip => "skip",
            Overlap::Allow => "allow",
            Overlap::Replace => "replace",
        }
        .to_owned(),
        last: last.map(time::text),
        next: next.map(time::text),
    }))
}
