//! Holds.

use armarius_wire::v1::hold::{Hold, On};
use axum::extract::State;
use maud::{Markup, html};

use super::frame::{page, steers};
use super::parts::{ago, collection_link, flow_link, item_link};
use crate::api;
use crate::app::App;
use crate::keys::Caller;
use crate::problem::Answer;

/// Holds shown at once.
const HOLDS_MAX: usize = 500;

/// `GET /holds`
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let asking = caller.clone();
    let holds = app.look(move |look| api::hold::visible_holds(look, &asking)).await?;
    let main = html! {
        h1 { "Holds" }
        @if holds.is_empty() { p.quiet { "Nothing is held." } }
        @else { (table(&holds, steers(&caller))) }
        p.quiet { "A hold is set on the page of what it brakes: a collection, flow, step, batch, \
            item or task." }
    };
    Ok(page(&caller, "/holds", "Holds", &main))
}

/// Holds as rows, with the means to release them.
pub(super) fn table(holds: &[Hold], may_release: bool) -> Markup {
    html! { div.scroll { table {
        thead { tr {
            th scope="col" { "what" } th scope="col" { "why" } th scope="col" { "since" }
            th.wide scope="col" { "by" } th scope="col" { "until" }
            @if may_release { th scope="col" { span.hidden { "action" } } }
        } }
        tbody { @for hold in holds.iter().take(HOLDS_MAX) { tr {
            td.address { (what(&hold.on)) }
            td { (hold.reason) }
            td { (ago(&hold.since)) }
            td.wide { (hold.owner) }
            td { @match &hold.until { Some(until) => (ago(until)), None => span.quiet { "released" }
                } }
            @if may_release { td { details.act name="act" { summary { "Release…" } div {
                p { "What met this hold goes on." }
                form method="post" action="/hold/release" {
                    input type="hidden" name="hold" value=(hold.hold);
                    button.main type="submit" { "Release hold " (hold.hold) }
                }
            } } } }
        } } }
    } } }
}

/// What is held.
fn what(on: &On) -> Markup {
    html! {
        @if let Some(collection) = &on.collection {
            (collection_link(collection))
            @if let Some(flow) = &on.flow { " / " (flow_link(collection, flow)) }
            @if let Some(step) = &on.step { " / " (step) }
        }
        @if let Some(item) = &on.item { (item_link(item)) }
        @if let Some(task) = on.task { a href={ "/task?id=" (task) } { "task " (task) } }
        @if let Some(batch) = on.batch { a href={ "/batch?id=" (batch) } { "batch " (batch) } }
    }
}
