//! Every step and how its tasks stand.

use armarius_core::decide::HOUSE;
use armarius_wire::client::segment;
use armarius_wire::v1::flow::Flow;
use axum::extract::State;
use maud::html;
use serde::Deserialize;

use super::frame::page;
use super::parts::{collection_link, count_cells, count_heads, flow_link};
use crate::api;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::problem::Answer;

/// Steps shown at once.
const STEPS_MAX: usize = 1_000;

/// Which part of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    collection: Option<String>,
}

/// `GET /board`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let (asking, only) = (caller.clone(), wanted.collection.clone());
    let mut flows: Vec<Flow> = app
        .look(move |look| {
            api::flow::shown(look, &asking, |at, _| {
                at != HOUSE && only.as_deref().is_none_or(|only| only == at)
            })
        })
        .await?;
    let steps: usize = flows.iter().map(|flow| flow.steps.len()).sum();
    let mut left = STEPS_MAX;
    for flow in &mut flows {
        flow.steps.truncate(left);
        left -= flow.steps.len();
    }
    let main = html! {
        h1 { "Board" @if let Some(only) = &wanted.collection { " of " (collection_link(only)) } }
        @if wanted.collection.is_some() { p { a href="/board" { "All collections" } } }
        @if flows.is_empty() { p.quiet { "There are no flows here." } }
        @else { div.scroll id="board" data-live { table.board {
            thead { tr { th scope="col" { "step" } (count_heads()) } }
            @for flow in &flows { tbody {
                tr.group { th scope="rowgroup" colspan="8" {
                    (collection_link(&flow.collection)) " / "
                        (flow_link(&flow.collection, &flow.name))
                    @if flow.removed { " " span.quiet { "removed" } }
                } }
                @for step in &flow.steps { tr {
                    th scope="row" { (step.step) @for label in &step.labels
                        { " " span.label { (label) } } }
                    (count_cells(&step.tasks, &query(flow, &step.step)))
                } }
            } }
        } } }
        @if steps > STEPS_MAX { p.quiet { "Only " (STEPS_MAX) " of " (steps)
            " steps; choose a collection." } }
    };
    Ok(page(&caller, "/board", "Board", &main))
}

/// What leads to the tasks of a step.
pub(super) fn query(flow: &Flow, step: &str) -> String {
    let (home, name) = (segment(&flow.collection), segment(&flow.name));
    format!("collection={home}&flow={name}&step={}", segment(step))
}
