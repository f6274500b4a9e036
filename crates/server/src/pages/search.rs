//! From what somebody typed to the page they meant.

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_wire::client::segment;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse as _;
use maud::html;
use serde::Deserialize;

use super::frame::page;
use super::parts::{collection_link, flow_link};
use crate::api;
use crate::app::App;
use crate::body::{Params, TaskRef};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Names shown when nothing fits exactly.
const SHOWN_MAX: usize = 50;

/// What was typed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    #[serde(default)]
    q: String,
}

/// What came of it.
enum Met {
    /// Exactly this page.
    Page(String),
    /// Collections and flows whose names hold what was typed.
    Names(Vec<String>, Vec<(String, String)>),
}

/// `GET /search`
pub(super) async fn search(
    State(app): State<App>,
    caller: Caller,
    Params(asked): Params<Asked>,
) -> Answer {
    let (asking, q) = (caller.clone(), asked.q.trim().to_owned());
    let typed = q.clone();
    let (collections, flows) = match app.look(move |look| find(look, &asking, &typed)).await? {
        Met::Page(to) => return Ok((StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()),
        Met::Names(collections, flows) => (collections, flows),
    };
    let main = html! {
        h1 { "Nothing is exactly " q { (q) } }
        @if !collections.is_empty() || !flows.is_empty() { ul {
            @for name in collections.iter().take(SHOWN_MAX)
                { li { "collection " (collection_link(name)) } }
            @for (home, name) in flows.iter().take(SHOWN_MAX)
                { li { "flow " (collection_link(home)) " / " (flow_link(home, name)) } }
        } }
        p.quiet { "An item is written " code { "collection/kind/key" } ", a task " code
            { "flow.step@collection/kind/key" }
            " or by its number. The signs " code { "% / . @ # ~" }
                " inside of names are written as " code { "%" } " and two hexadecimal digits." }
    };
    Ok(page(&caller, "", "Search", &main))
}

fn find(look: &mut Look<'_>, caller: &Caller, q: &str) -> Result<Met, Lost> {
    let task = match q.parse() {
        Ok(number) => Some(TaskRef::Number(number)),
        Err(_) => TaskAddress::parse(q).ok().map(TaskRef::Address),
    };
    if let Some(id) = task.and_then(|task| look.task_at(caller, &task).ok()) {
        return Ok(Met::Page(format!("/task?id={id}")));
    }
    if let Ok(at) = ItemAddress::parse(q)
        && look.item_at(caller, &at).is_ok()
    {
        return Ok(Met::Page(format!("/item?at={}", segment(q))));
    }
    let collections = api::collection::shown(&look.view, caller);
    if collections.iter().any(|c| c.name == q) {
        return Ok(Met::Page(format!("/collection?name={}", segment(q))));
    }
    let like = |name: &str| !q.is_empty() && name.to_lowercase().contains(&q.to_lowercase());
    let names = collections.into_iter().map(|c| c.name).filter(|name| like(name)).collect();
    let flows = api::flow::shown(look, caller, |_, name| like(name))?;
    Ok(Met::Names(names, flows.into_iter().map(|f| (f.collection, f.name)).collect()))
}
