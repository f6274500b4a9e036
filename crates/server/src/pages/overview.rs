//! How things stand: what runs, what waits, what failed, since when; how fast it goes.

use armarius_core::decide::HOUSE;
use armarius_core::task::State as Stands;
use armarius_wire::v1::collection::Collection;
use armarius_wire::v1::hold::Hold;
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::task::Task;
use axum::extract::State;
use maud::{Markup, html};

use super::frame::page;
use super::parts::{by_state, collection_link, count, count_cells, count_heads, said, tasks};
use super::{hold, timeline};
use crate::api;
use crate::app::App;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Tasks shown of each kind.
const SHOWN_MAX: usize = 8;

struct Standing {
    collections: Vec<Collection>,
    running: Vec<Task>,
    failed: Vec<Task>,
    holds: Vec<Hold>,
}

/// `GET /`
pub(super) async fn show(State(app): State<App>, caller: Caller) -> Answer {
    let asking = caller.clone();
    let standing = app.look(move |look| read(look, &asking)).await?;
    let mut all = Counts::default();
    for c in &standing.collections {
        all.add([
            c.tasks.waiting,
            c.tasks.held,
            c.tasks.ready,
            c.tasks.leased,
            c.tasks.done,
            c.tasks.failed,
            c.tasks.cancelled,
        ]);
    }
    let main = html! {
        h1.hidden { "Overview" }
        div id="totals" data-live { (totals(&all)) }
        div id="pace" data-live { (timeline::pace(&app)) }
        div.columns {
            section id="running" data-live {
                h2 { "Running" }
                @if standing.running.is_empty() { p.quiet { "Nothing runs at the moment." } }
                @else { (tasks(&standing.running))
                    (more("leased", all.leased, standing.running.len())) }
            }
            section id="failed" data-live {
                h2 { "Failed" }
                @if standing.failed.is_empty() { p.quiet { "Nothing has failed." } }
                @else { (tasks(&standing.failed))
                    (more("failed", all.failed, standing.failed.len())) }
            }
        }
        @if !standing.holds.is_empty() {
            section id="holds" data-live { h2 { "Held" } (hold::table(&standing.holds, false)) }
        }
        section id="collections" data-live {
            h2 { "Collections" }
            @if standing.collections.is_empty() { (begin()) }
            @else { (collections(&standing.collections)) }
        }
    };
    Ok(page(&caller, "/", "Overview", &main))
}

fn read(look: &mut Look<'_>, caller: &Caller) -> Result<Standing, Lost> {
    let mut collections = api::collection::shown(&look.view, caller);
    collections.retain(|c| c.name != HOUSE);
    let mut of = |state| -> Result<Vec<Task>, Lost> {
        let wanted = api::task::Wanted {
            state: Some(Stands::as_str(state).to_owned()),
            max: Some(SHOWN_MAX),
            ..api::task::Wanted::default()
        };
        Ok(api::task::page(look, caller, &wanted)?.entries)
    };
    let (running, failed) = (of(Stands::Leased)?, of(Stands::Failed)?);
    let holds = api::hold::visible_holds(look, caller)?;
    Ok(Standing { collections, running, failed, holds })
}

fn totals(all: &Counts) -> Markup {
    html! {
        dl.totals { @for (state, n) in by_state(all) {
            div class=(if n == 0 { "zero" } else { state.as_str() }) {
                dt { (said(state.as_str())) }
                dd { a href={ "/tasks?state=" (state.as_str()) } { (count(n)) } }
            }
        } }
    }
}

fn more(state: &str, all: i64, shown: usize) -> Markup {
    let hidden = all - i64::try_from(shown).unwrap_or(all);
    html! { @if hidden > 0 { p.further { a href={ "/tasks?state=" (state) }
    { "and " (count(hidden)) " more" } } } }
}

fn begin() -> Markup {
    html! {
        p { "There is nothing yet. A collection, a flow and an item are enough to begin:" }
        pre.json { "armarius collection put maps\narmarius flow apply maps flow.yaml\narmarius \
            submit FLOW maps/page/1" }
    }
}

/// Collections as rows.
pub(super) fn collections(rows: &[Collection]) -> Markup {
    html! { div.scroll { table {
        thead { tr { th scope="col" { "collection" } th.n.wide scope="col" { "flows" }
            (count_heads()) } }
        tbody { @for c in rows { tr {
            th scope="row" { (collection_link(&c.name)) }
            td.n.wide { (c.flows) }
            (count_cells(&c.tasks, &format!("collection={}",
                armarius_wire::client::segment(&c.name))))
        } } }
    } } }
}
