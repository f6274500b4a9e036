//! Collections.

use std::collections::BTreeMap;

use armarius_core::command::Command;
use armarius_core::flow::check::nearest;
use armarius_core::ids::CollectionId;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::text::{Name, Text};
use armarius_core::view::View;
use armarius_wire::v1::Page;
use armarius_wire::v1::collection::{Collection, Put};
use armarius_wire::v1::status::Counts;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Json, json};
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::Answer;

/// `PUT /api/v1/collections/{collection}`
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(put): Json<Put>,
) -> Answer {
    let name = Name::new(&name)?;
    within(&caller, &name)?;
    let notify = put.notify.iter().map(|to| Text::from(&**to)).collect();
    app.ask(&caller, Command::PutCollection { name, notify }).await?;
    Ok(super::done())
}

/// `GET /api/v1/collections`
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let entries = app.look(move |look| Ok(shown(&look.view, &caller))).await?;
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

/// `GET /api/v1/collections/{collection}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer {
    let all = app.look(move |look| Ok(shown(&look.view, &caller))).await?;
    let Some(one) = all.iter().find(|c| c.name == name) else {
        let near = nearest(&name, all.iter().map(|c| c.name.as_str()));
        let meant = near.map(|near| format!("did you mean `{near}`?"));
        return Err(meant.map_or_else(|| unknown(&name), |hint| unknown(&name).hint(hint)).into());
    };
    Ok(json(StatusCode::OK, one))
}

/// There is no such collection, or the caller may not see it.
pub(crate) fn unknown(name: &str) -> Refusal {
    Refusal::new(Code::NoSuchCollection, format!("there is no collection {name}"))
        .hint(format!("make it first: armarius collection put {name}"))
}

/// How the tasks of each collection stand, in one pass.
pub(crate) fn counts(view: &View) -> BTreeMap<String, Counts> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for (_, queue) in view.queues.iter() {
        let Ok(Some(home)) = view.collections.get(&queue.collection) else { continue };
        counts.entry(home.name.to_string()).or_default().add(queue.counts);
    }
    counts
}

pub(crate) fn shown(view: &View, caller: &Caller) -> Vec<Collection> {
    let counts = counts(view);
    let mut flows: BTreeMap<CollectionId, usize> = BTreeMap::new();
    for (_, flow) in view.flows.iter().filter(|(_, flow)| !flow.removed) {
        *flows.entry(flow.collection).or_default() += 1;
    }
    let visible = view.collections.iter().filter(|(_, c)| caller.may(&c.name));
    let mut shown: Vec<Collection> = visible
        .map(|(id, collection)| Collection {
            name: collection.name.to_string(),
            notify: collection.notify.iter().map(|to| to.to_string()).collect(),
            flows: flows.get(id).copied().unwrap_or_default(),
            tasks: counts.get(collection.name.as_str()).copied().unwrap_or_default(),
        })
        .collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    shown
}
