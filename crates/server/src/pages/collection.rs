//! Collections.

use armarius_core::decide::HOUSE;
use armarius_wire::client::segment;
use axum::extract::State;
use maud::html;
use serde::Deserialize;

use super::frame::{page, steers};
use super::parts::{count_cells, count_heads};
use super::{act, flow, hold, overview};
use crate::api;
use crate::app::App;
use crate::body::Params;
use crate::keys::Caller;
use crate::problem::Answer;

/// `GET /collections`
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let asking = caller.clone();
    let mut rows = app.look(move |look| Ok(api::collection::shown(&look.view, &asking))).await?;
    rows.retain(|c| c.name != HOUSE);
    let main = html! {
        h1 { "Collections" }
        @if rows.is_empty() { p.quiet { "There is no collection yet: " code
            { "armarius collection put NAME" } " makes one." } }
        @else { div id="collections" data-live { (overview::collections(&rows)) } }
    };
    Ok(page(&caller, "/collections", "Collections", &main))
}

/// Which one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    name: String,
}

/// `GET /collection`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    Params(Wanted { name }): Params<Wanted>,
) -> Answer {
    let (asking, at) = (caller.clone(), name.clone());
    let (one, flows, holds) = app
        .look(move |look| {
            let mut all = api::collection::shown(&look.view, &asking);
            all.retain(|c| c.name == at);
            let one = all.pop().ok_or_else(|| api::collection::unknown(&at))?;
            let flows = api::flow::shown(look, &asking, |home, _| home == at)?;
            let mut holds = api::hold::visible_holds(look, &asking)?;
            holds.retain(|hold| hold.on.collection.as_deref() == Some(&*at));
            Ok((one, flows, holds))
        })
        .await?;
    let at = segment(&name);
    let main = html! {
        h1 { (name) }
        p.facts {
            a href={ "/items?collection=" (at) } { "Items" } " · "
            a href={ "/board?collection=" (at) } { "Board" } " · "
            a href={ "/tasks?collection=" (at) } { "Tasks" }
            @if !one.notify.is_empty() { " · tells " @for to in &one.notify { code { (to) } " " } }
        }
        div id="counts" data-live { div.scroll { table {
            thead { tr { (count_heads()) } }
            tbody { tr { (count_cells(&one.tasks, &format!("collection={at}"))) } }
        } } }
        @if !holds.is_empty() { section { h2 { "Held" } (hold::table(&holds, steers(&caller))) } }
        section id="flows" data-live {
            h2 { "Flows" }
            @if flows.is_empty() { p.quiet { "No flow is applied here." } } @else
                { (flow::table(&flows)) }
        }
        @if steers(&caller) && name != HOUSE { section.actions {
            h2 { "Actions" }
            (act::hold_form("Hold this collection",
                "No task of this collection is handed out while it is held; what runs goes on.",
                &[("collection", &name)]))
        } }
    };
    Ok(page(&caller, "/collections", &name, &main))
}
