//! Items and their histories.

use std::collections::{BTreeMap, BTreeSet};

use armarius_core::address::ItemAddress;
use armarius_core::decide::HOUSE;
use armarius_core::event::{Event, task_text};
use armarius_core::ids::{ItemId, TaskId};
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::seam::TaskFilter;
use armarius_wire::client::segment;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act;
use super::frame::{page, steers};
use super::parts::{
    action, ago, ago_at, badge, collection_link, count, further, item_link, json, tasks,
};
use crate::api;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Items of one page.
const ITEMS_MAX: usize = 100;
/// Events of one page.
const EVENTS_MAX: i64 = 100;
/// Bytes of a detail that stands on its event's own line.
const SHORT_BYTES_MAX: usize = 80;
/// Tasks shown of one item.
const TASKS_MAX: usize = 50;

/// Which items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    collection: String,
    cursor: Option<i64>,
}

/// `GET /items`
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(which): Params<Which>,
) -> Answer {
    let (asking, name) = (caller.clone(), Name::new(&which.collection)?);
    let after = ItemId(which.cursor.unwrap_or_default());
    let rows = app
        .look(move |look| {
            let found = look.ask(|view| Ok(view.collection_names.get(&name)?.copied()))?;
            let Some(id) = found.filter(|_| asking.may(&name)) else {
                return Err(api::collection::unknown(&name).into());
            };
            let rows = look.reader.items(id, after, ITEMS_MAX)?;
            Ok(rows
                .into_iter()
                .map(|row| (row.id.0, api::item::shown(&name, &row)))
                .collect::<Vec<_>>())
        })
        .await?;
    let next = rows.last().filter(|_| rows.len() == ITEMS_MAX).map(|(id, _)| id.to_string());
    let main = html! {
        h1 { "Items of " (collection_link(&which.collection)) }
        @if rows.is_empty() { p.quiet { "There are none." } }
        @else { div.scroll { table {
            thead { tr {
                th scope="col" { "item" } th.n.wide scope="col" { "priority" }
                th.wide scope="col" { "types" } th scope="col" { "first seen" }
            } }
            tbody { @for (_, item) in &rows { tr {
                td.address { (item_link(&item.item)) @if item.deleted
                    { " " span.quiet { "deleted" } } }
                td.n.wide { (item.priority) }
                td.wide { @for kind in &item.types { span.label { (kind) } " " } }
                td { (ago(&item.first_seen_at)) }
            } } }
        } } }
        (further(next.as_deref(), &format!("collection={}", segment(&which.collection)),
            rows.len()))
    };
    Ok(page(&caller, "/collections", &format!("Items of {}", which.collection), &main))
}

/// Which one, and which part of its history.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    at: String,
    /// Events below this number.
    before: Option<i64>,
}

/// `GET /item`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let (asking, at) = (caller.clone(), ItemAddress::parse(&wanted.at)?);
    let (collection, address) = (at.collection.clone(), at.to_string());
    let (item, shown, told) = app
        .look(move |look: &mut Look<'_>| {
            let row = look.item_at(&asking, &at)?;
            let filter = TaskFilter { item: Some(row.id), max: TASKS_MAX, ..TaskFilter::default() };
            let tasks = api::task::read(look, &filter)?;
            let head = look.ask(|view: &View| Ok(view.heads.get(&row.id)?.copied()))?;
            let last = head.unwrap_or_default().n;
            let end = wanted.before.map_or(last, |n| (n - 1).clamp(0, last));
            let from = (end - EVENTS_MAX).max(0);
            let max = usize::try_from(end - from).unwrap_or(0);
            let events = look.reader.events(row.id, from, max)?;
            let names = names(look, &events)?;
            Ok((api::item::shown(&at.collection, &row), tasks, (events, from, names)))
        })
        .await?;
    let (events, from, names) = told;
    let main = html! {
        p.crumb { (collection_link(&collection)) " / " (item.kind) }
        h1.address { (item.key) @if item.deleted { " " span.quiet { "deleted" } } }
        dl.facts {
            div { dt { "address" } dd { code { (address) } } }
            div { dt { "first seen" } dd { (ago(&item.first_seen_at)) } }
            div { dt { "priority" } dd { (item.priority) } }
            @if let Some(ordinal) = item.ordinal { div { dt { "ordinal" } dd { (ordinal) } } }
            @if !item.types.is_empty() { div { dt { "types" } dd
                { @for kind in &item.types { span.label { (kind) } " " } } } }
            div { dt { "content changed by" } dd { "event " (item.changed_seq) } }
        }
        @if let Some(attributes) = &item.attributes { (json(attributes.get())) }
        section id="tasks" data-live {
            h2 { "Tasks" }
            @if shown.is_empty() { p.quiet { "No flow has worked on it." } } @else
                { (tasks(&shown)) }
        }
        @if steers(&caller) && !item.deleted && collection.as_str() != HOUSE { section.actions {
            h2 { "Actions" }
            (act::hold_form("Hold this item",
                "A claim that reaches a task of this item sets it aside.", &[("item", &address)]))
            (action("Reprioritise", "Higher goes first. Its queued tasks move with it.",
                &act::item_form(&address, item.priority)))
        } }
        section id="history" data-live {
            h2 { "History" }
            (history(&events, Some(&names)))
            @if from > 0 { p.further { a href={ "?at=" (segment(&address)) "&before=" (from + 1) } {
                "Earlier: " (count(from)) " events" } } }
        }
    };
    Ok(page(&caller, "/collections", &address, &main))
}

/// `flow.step#part~round` of every task that events are about.
fn names(look: &mut Look<'_>, events: &[Event]) -> Result<BTreeMap<TaskId, String>, Lost> {
    let ids: BTreeSet<TaskId> = events.iter().filter_map(|event| event.task).collect();
    let needs: Vec<Need> = ids.iter().map(|id| Need::Body(*id)).collect();
    look.load(&needs)?;
    look.ask(|view| {
        let mut names = BTreeMap::new();
        for id in &ids {
            let Some(body) = view.bodies.get(id)? else { continue };
            let (flow, queue) = (view.flows.get(&body.flow)?, view.queues.get(&body.queue)?);
            if let (Some(flow), Some(queue)) = (flow, queue) {
                let name = task_text(&flow.name, &queue.step, &body.part, body.round);
                names.insert(*id, name);
            }
        }
        Ok(names)
    })
}

/// Events, newest first. Tasks are named where they are not all the same one.
pub(super) fn history(events: &[Event], names: Option<&BTreeMap<TaskId, String>>) -> Markup {
    html! { ol.history reversed {
        @for event in events.iter().rev() { li value=(event.n) {
            span.what {
                @if let Some(state) = event.to { (badge(state.as_str())) " " } @else
                    { b { (event.name) } " " }
                @if let (Some(task), Some(names)) = (event.task, names) {
                    a href={ "/task?id=" (task) } {
                        @match names.get(&task) { Some(name) => (name), None => { "task " (task) } }
                    } " "
                }
                @if let Some(outcome) = event.outcome { span.quiet { (outcome.as_str()) } }
            }
            span.who { (event.actor) ", " (ago_at(event.at)) }
            @match event.detail.as_deref() {
                Some(short) if short.len() <= SHORT_BYTES_MAX && !short.starts_with('{') =>
                    span.what.detail { (short) },
                Some(long) if !long.is_empty() => (json(long)),
                Some(_) | None => "",
            }
        } }
    } }
}
