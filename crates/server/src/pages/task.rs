//! Tasks: lists of them, and everything about one.

use armarius_core::ids::ItemId;
use armarius_core::task::State as Stands;
use armarius_core::view::{Stop, View};
use armarius_core::why::{Node, why_task};
use armarius_wire::client::segment;
use armarius_wire::v1::task::Task;
use armarius_wire::v1::time;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act;
use super::frame::{page, steers};
use super::item::history;
use super::parts::{
    ago, ago_at, archive_link, badge, further, item_link, json, lasting, revision_href, said,
    tasks, took,
};
use crate::api;
use crate::api::runs::exit_code;
use crate::api::task::Wanted;
use crate::app::App;
use crate::body::{Params, TaskRef};
use crate::keys::Caller;
use crate::look::{Look, Lost, item_address};
use crate::problem::Answer;

/// Tasks of one page.
const TASKS_MAX: usize = 100;

/// `GET /tasks`
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let asked = Wanted { max: Some(wanted.max.unwrap_or(TASKS_MAX)), ..wanted };
    let query = query(&asked);
    let (asking, state) = (caller.clone(), asked.state.clone());
    let title = title(&asked);
    let shown = app.look(move |look| api::task::page(look, &asking, &asked)).await?;
    let main = html! {
        h1 { (title) }
        nav.chips aria-label="States" {
            a href={ "?" (query) } aria-current=[state.is_none().then_some("true")] { "all" }
            @for one in Stands::ALL {
                a href={ "?" (query) "&state=" (one.as_str()) }
                    aria-current=[(state.as_deref() == Some(one.as_str())).then_some("true")]
                        { (said(one.as_str())) }
            }
        }
        div id="tasks" data-live {
            @if shown.entries.is_empty() && shown.next.is_none() { p.quiet { "There are none." } }
            @else if !shown.entries.is_empty() { (tasks(&shown.entries)) }
            @let query = match &state { Some(state) => format!("{query}&state={}", segment(state)),
                None => query.clone() };
            (further(shown.next.as_deref(), &query, shown.entries.len()))
        }
    };
    Ok(page(&caller, "/tasks", &title, &main))
}

/// Everything that was asked for but state and place.
fn query(wanted: &Wanted) -> String {
    let named = [
        ("collection", wanted.collection.clone()),
        ("flow", wanted.flow.clone()),
        ("step", wanted.step.clone()),
        ("item", wanted.item.clone()),
        ("batch", wanted.batch.map(|batch| batch.to_string())),
    ];
    let pairs = named.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let pairs: Vec<String> =
        pairs.map(|(name, value)| format!("{name}={}", segment(value))).collect();
    pairs.join("&")
}

fn title(wanted: &Wanted) -> String {
    let mut title = match &wanted.state {
        Some(state) => format!("Tasks {}", said(state)),
        None => "Tasks".to_owned(),
    };
    if let Some(step) = &wanted.step {
        title = format!("{title} of {}.{step}", wanted.flow.as_deref().unwrap_or("any"));
    } else if let Some(flow) = &wanted.flow {
        title = format!("{title} of {flow}");
    }
    if let Some(collection) = &wanted.collection {
        title = format!("{title} in {collection}");
    }
    if let Some(batch) = wanted.batch {
        title = format!("{title} of batch {batch}");
    }
    title
}

/// Which one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    id: i64,
}

/// Everything about a task.
struct Whole {
    task: Task,
    item: String,
    /// The archive and the revision it belongs to, if it does.
    revision: Option<(String, i64)>,
    why: Node,
    events: Vec<armarius_core::event::Event>,
    lease: Option<(String, armarius_core::ids::Time)>,
}

/// `GET /task`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(Which { id }): Params<Which>,
) -> Answer {
    let asking = caller.clone();
    let whole = app.look(move |look| read(look, &asking, id)).await?;
    let Whole { task, item, revision, why, events, lease } = &whole;
    let open = !matches!(&*task.state, "done" | "failed" | "cancelled");
    let main = html! {
        p.crumb {
            @if let Some((archive, number)) = revision {
                (archive_link(archive)) " / "
                a href=(revision_href(archive, *number)) { "revision " (number) }
            } @else { (item_link(item)) }
        }
        h1.address { (task.address) }
        div id="state" data-live {
            p.lead { (badge(&task.state)) " " @if !task.cause.is_empty() { (task.cause) ", " }
                "for " (lasting(&task.since)) }
            dl.facts {
                div { dt { "task" } dd { (task.task) } }
                div { dt { "attempts" } dd data-attempt=(task.attempts) { (task.attempts) } }
                div { dt { "priority" } dd { (task.priority) } }
                div { dt { "made" } dd { (ago(&task.created_at)) } }
                @if let Some(ready) = &task.ready_at { div
                    { dt { "not before" } dd { (ago(ready)) } } }
                @if let Some(batch) = task.batch { div
                    { dt { "batch" } dd { a href={ "/batch?id=" (batch) } { (batch) } } } }
                @if let Some((worker, until)) = lease {
                    div { dt { "worker" } dd { (worker) } }
                    div { dt { "lease ends" } dd { (ago_at(*until)) } }
                }
            }
        }
        @if steers(&caller) && task.state != "done" {
            section.actions { h2 { "Actions" } (act::task_forms(task)) } }
        section id="why" data-live {
            h2 { @if open { "What it waits for" } @else { "Why" } }
            ul.why { (tree(why)) }
        }
        @if let Some(payload) = &task.payload { section { h2 { "Payload" } (json(payload.get())) } }
        @if task.attempts > 0 { section {
            h2 { "Output" }
            div data-output={ "/api/v1/tasks/" (task.task) "/output" } hidden {
                pre.output tabindex="0" aria-label="Output of the newest attempt" {}
            }
            p { a href={ "/api/v1/tasks/" (task.task) "/output" }
                { "The newest attempt's output as text" } }
        } }
        section id="attempts" data-live { h2 { "Attempts" } (attempts(events)) }
        section id="history" data-live { h2 { "History" } (history(events, None)) }
    };
    Ok(page(&caller, "/tasks", &task.address, &main))
}

fn read(look: &mut Look<'_>, caller: &Caller, id: i64) -> Result<Whole, Lost> {
    let id = look.task_at(caller, &TaskRef::Number(id))?;
    let task = api::task::one(look, id)?;
    let why = look.ask(|view| why_task(view, id, api::now()))?;
    let of = |view: &View| Ok(view.bodies.get(&id)?.map(|body| body.item).unwrap_or_default());
    let item = look.ask(of)?;
    let events = api::task::events(look, id)?;
    let lease = look.ask(|view| {
        let Some(lease) = view.tasks.get(&id)?.and_then(|task| task.lease) else { return Ok(None) };
        Ok(view.leases.get(&lease)?.map(|lease| (lease.worker.to_string(), lease.expires_at)))
    })?;
    let revision = look.ask(|view| revision_of(view, item))?;
    let item = look.ask(|view| item_address(view, item))?;
    Ok(Whole { task, item, revision, why, events, lease })
}

/// The archive and the number of an item that is a revision.
fn revision_of(view: &View, item: ItemId) -> Result<Option<(String, i64)>, Stop> {
    let Some(row) = view.items.get(&item)? else { return Ok(None) };
    let home = view.collections.get(&row.collection)?.map(|home| home.name.to_string());
    let is_archive = view.archives.get(&row.collection)?.is_some();
    Ok(home.zip(row.ordinal.filter(|_| is_archive)))
}

/// What it waits for, as a tree.
pub(super) fn tree(node: &Node) -> Markup {
    html! { li {
        (node.what) " " span.quiet { "for " (lasting(&time::text(node.since))) }
        @if !node.clear.is_empty() { div.clear { "→ " code { (node.clear) } } }
        @if !node.because.is_empty() { ul { @for next in &node.because { (tree(next)) } } }
    } }
}

/// Grants and what came of each.
fn attempts(events: &[armarius_core::event::Event]) -> Markup {
    let mut rows = Vec::new();
    for (place, event) in events.iter().enumerate() {
        if event.to == Some(Stands::Leased) {
            let end = events.iter().skip(place + 1).find(|e| e.to.is_some());
            rows.push((event, end));
        }
    }
    html! {
        @if rows.is_empty() { p.quiet { "Nobody has taken it yet." } }
        @else { div.scroll { table {
            thead { tr { th.n scope="col" { "attempt" } th scope="col" { "by" } th scope="col"
                { "began" }
                th scope="col" { "took" } th scope="col" { "ended" } } }
            tbody { @for (place, (begun, end)) in rows.iter().enumerate().rev() { tr {
                td.n { (place + 1) }
                td { (begun.detail.as_deref().unwrap_or(&begun.actor)) }
                td { (ago_at(begun.at)) }
                @if let Some(end) = end {
                    td { (took(u64::try_from(end.at.0 - begun.at.0).unwrap_or(0))) }
                    td { (badge(end.to.map_or("", Stands::as_str)))
                        @if let Some(code) = end.detail.as_deref().and_then(exit_code)
                            { " " span.quiet { "exit " (code) } } }
                } @else { td { "" } td { (badge(Stands::Leased.as_str())) } }
            } } }
        } } }
    }
}
