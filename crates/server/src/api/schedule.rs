//! Schedules: what fires by itself, and when.

use armarius_core::flow::{Missed, Overlap};
use armarius_core::ids::Time;
use armarius_core::rows;
use armarius_core::view::{Stop, View};
use armarius_engine::calendar;
use armarius_wire::v1::schedule::Schedule;
use armarius_wire::v1::{Page, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Params, json};
use crate::keys::Caller;
use crate::look::item_address;
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
            look.ask(|view| {
                let mut shown = Vec::new();
                for (_, schedule) in view.schedules.iter().filter(|(_, s)| !s.removed) {
                    let Some(one) = show(view, schedule, now)? else { continue };
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

fn show(view: &View, schedule: &rows::Schedule, now: Time) -> Result<Option<Schedule>, Stop> {
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
        last: (schedule.last_round > 0).then(|| time::text(schedule.last_slot)),
        next: next.map(time::text),
    }))
}
