//! Batches.

use armarius_core::ids::BatchId;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::why::why_batch;
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::batch::Batch;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::act;
use super::frame::{page, steers};
use super::parts::{action, count, further, item_link, tasks};
use super::task::tree;
use crate::api;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::problem::Answer;

/// Batches of one page.
const BATCHES_MAX: usize = 100;
/// Tasks shown of one batch.
const TASKS_MAX: usize = 50;

/// From where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    cursor: Option<i64>,
}

/// `GET /batches`
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(from): Params<From>,
) -> Answer {
    let asking = caller.clone();
    let (rows, next) = app
        .look(move |look| {
            let rows = look.reader.batches(from.cursor.map(BatchId), BATCHES_MAX)?;
            let next = rows.last().filter(|_| rows.len() == BATCHES_MAX).map(|b| b.id.to_string());
            let seen = |id| {
                let home = look.view.collections.get(&id).ok().flatten();
                home.is_some_and(|c| asking.may(&c.name))
            };
            let rows: Vec<_> = rows.into_iter().filter(|b| seen(b.collection)).collect();
            let shown =
                look.ask(|view| rows.iter().map(|b| api::batch::shown(view, b)).collect())?;
            Ok::<(Vec<Batch>, _), _>((shown, next))
        })
        .await?;
    let main = html! {
        h1 { "Batches" }
        @if rows.is_empty() { p.quiet { "There are none." } }
        @else { div.scroll id="batches" data-live { table {
            thead { tr {
                th.n scope="col" { "batch" } th scope="col" { "item" } th scope="col" { "state" }
                th scope="col" { "progress" } th.n scope="col" { "failed" } th.n scope="col"
                    { "open" } th.n scope="col" { "in all" }
            } }
            tbody { @for batch in &rows { tr {
                td.n { a href={ "/batch?id=" (batch.batch) } { (batch.batch) } }
                td.address { (item_link(&batch.item)) }
                td { (batch.state) }
                td { (bar(batch)) }
                td.n { (count(batch.failed)) } td.n { (count(batch.open)) } td.n
                    { (count(batch.total)) }
            } } }
        } } }
        (further(next.as_deref(), "", rows.len()))
    };
    Ok(page(&caller, "/batches", "Batches", &main))
}

fn bar(batch: &Batch) -> Markup {
    let settled = batch.done + batch.failed + batch.cancelled;
    let all = batch.total.max(1);
    html! { progress max=(all) value=(settled) { (settled * 100 / all) " %" } }
}

/// Which one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    id: i64,
}

/// `GET /batch`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(Which { id }): Params<Which>,
) -> Answer {
    let (asking, id) = (caller.clone(), BatchId(id));
    let (batch, why, shown) = app
        .look(move |look| {
            look.visible_batch(&asking, id)?;
            let batch = look.ask(|view| match view.batches.get(&id)? {
                Some(batch) => api::batch::shown(view, batch),
                None => {
                    Err(Refusal::new(Code::NoSuchBatch, format!("there is no batch {id}")).into())
                }
            })?;
            let why = look.ask(|view| why_batch(view, id, api::now()))?;
            let filter = TaskFilter { batch: Some(id), max: TASKS_MAX, ..TaskFilter::default() };
            let tasks = api::task::read(look, &filter)?;
            Ok((batch, why, tasks))
        })
        .await?;
    let open = matches!(&*batch.state, "open" | "processing");
    let main = html! {
        h1 { "Batch " (batch.batch) }
        div id="batch" data-live {
            p.lead { (batch.state) " " (bar(&batch)) }
            dl.facts {
                div { dt { "item" } dd { (item_link(&batch.item)) } }
                div { dt { "in all" } dd { (count(batch.total)) } }
                div { dt { "open" } dd { (count(batch.open)) } }
                div { dt { "done" } dd { (count(batch.done)) } }
                div { dt { "failed" } dd { (count(batch.failed)) } }
                div { dt { "cancelled" } dd { (count(batch.cancelled)) } }
                div { dt { "reports" } dd { (batch.generation) } }
            }
        }
        @if steers(&caller) { section.actions {
            h2 { "Actions" }
            @if batch.failed > 0 { (action("Retry what failed",
                "Every failed member gets another attempt.", &act::batch_form(batch.batch, "retry",
                "Retry"))) }
            @if open { (action("Cancel", "Everything open in it is cancelled.",
                &act::batch_form(batch.batch, "cancel", "Cancel this batch"))) }
            @if open { (act::hold_form("Hold this batch",
                "A claim that reaches one of its tasks sets it aside.",
                &[("batch", &batch.batch.to_string())])) }
        } }
        section id="why" data-live { h2 { "What it waits for" } ul.why { (tree(&why)) } }
        section id="tasks" data-live {
            h2 { "Tasks" }
            @if shown.is_empty() { p.quiet { "It has no tasks yet." } } @else { (tasks(&shown)) }
            @if shown.len() == TASKS_MAX { p.further { a href={ "/tasks?batch=" (batch.batch) }
                { "All of them" } } }
        }
    };
    Ok(page(&caller, "/batches", &format!("Batch {}", batch.batch), &main))
}
