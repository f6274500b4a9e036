//! Flows: put as the text of a flow file.

use armarius_core::command::Command;
use armarius_core::flow::codec;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows::FlowRow;
use armarius_core::text::Name;
use armarius_core::view::{Need, Stop, View};
use armarius_wire::flowfile::{self, FlowFileError, Home, Source};
use armarius_wire::v1::flow::{Applied, Flow, Step};
use armarius_wire::v1::problem::Place;
use armarius_wire::v1::status::Counts;
use armarius_wire::v1::{Page, raw, time};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::claim::hex;
use crate::app::App;
use crate::body::{Params, Text, json, wrong_kind};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::{Answer, Fault};

/// `PUT /api/v1/flows/{collection}/{flow}`
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path((collection, name)): Path<(String, String)>,
    file: Text,
) -> Answer {
    let collection = Name::new(&collection)?;
    within(&caller, &collection)?;
    let flow = read(&file, &name)?;
    let digest = codec::digest(&flow);
    let command = Command::ApplyFlow { collection: collection.clone(), flow: Box::new(flow) };
    let reply = app.ask(&caller, command).await?;
    match reply {
        Reply::Flow { fresh, warnings, .. } => {
            let (collection, version) = (collection.to_string(), hex(&digest));
            let applied = Applied { collection, flow: name, version, fresh, warnings };
            Ok(json(if fresh { StatusCode::CREATED } else { StatusCode::OK }, &applied))
        }
        other => Err(super::strange(&other)),
    }
}

fn read(file: &Text, name: &str) -> Result<armarius_core::flow::Flow, Fault> {
    let ending = match &*file.kind {
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => "yaml",
        "application/json" => "json",
        other => return Err(wrong_kind(other, "application/yaml or application/json")),
    };
    let file_name = format!("{name}.{ending}");
    let source = Source { file_name: &file_name, text: &file.text };
    let flow = flowfile::read(&source, Home::Server).map_err(|error| wrong(&error))?;
    if flow.name.as_str() == name {
        return Ok(flow);
    }
    let why = format!("the file names the flow {}, the request {name}", flow.name);
    Err(Refusal::new(Code::BadFlow, why).hint("make them agree, or leave the name out").into())
}

fn wrong(error: &FlowFileError) -> Fault {
    let count = error.problems.len();
    let things = if count == 1 { "problem" } else { "problems" };
    let mut fault = Fault::from(
        Refusal::new(Code::BadFlow, format!("the flow file has {count} {things}"))
            .hint("correct them and put it again; nothing was changed"),
    );
    let places = error.problems.iter().map(|p| Place {
        line: p.line,
        column: p.column,
        message: p.message.clone(),
        hint: p.hint.clone(),
    });
    fault.0.problems = places.collect();
    fault
}

/// `DELETE /api/v1/flows/{collection}/{flow}`
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path((collection, flow)): Path<(String, String)>,
) -> Answer {
    let (collection, flow) = (Name::new(&collection)?, Name::new(&flow)?);
    within(&caller, &collection)?;
    app.ask(&caller, Command::RemoveFlow { collection, flow }).await?;
    Ok(super::done())
}

/// Which flows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    collection: Option<String>,
}

/// `GET /api/v1/flows`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let entries = app
        .look(move |look| {
            shown(look, &caller, |at, _| wanted.collection.as_deref().is_none_or(|c| c == at))
        })
        .await?;
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

/// `GET /api/v1/flows/{collection}/{flow}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((collection, flow)): Path<(String, String)>,
) -> Answer {
    let wanted = (collection.clone(), flow.clone());
    let found = app
        .look(move |look| shown(look, &caller, |at, name| at == wanted.0 && name == wanted.1))
        .await?;
    let Some(one) = found.first() else {
        let why = format!("there is no flow {flow} in {collection}");
        return Err(Refusal::new(Code::NoSuchFlow, why)
            .hint("`armarius flow list` shows those there are")
            .into());
    };
    Ok(json(StatusCode::OK, one))
}

pub(crate) fn shown(
    look: &mut Look<'_>,
    caller: &Caller,
    wanted: impl Fn(&str, &str) -> bool,
) -> Result<Vec<Flow>, Lost> {
    let mut rows: Vec<(String, FlowRow)> = Vec::new();
    for (_, flow) in look.view.flows.iter() {
        let home = look.view.collections.get(&flow.collection).ok().flatten();
        let Some(home) = home else { continue };
        if caller.may(&home.name) && wanted(&home.name, &flow.name) {
            rows.push((home.name.to_string(), flow.clone()));
        }
    }
    rows.sort_by(|a, b| (&a.0, &a.1.name).cmp(&(&b.0, &b.1.name)));
    let versions: Vec<Need> = rows.iter().map(|(_, flow)| Need::Version(flow.version)).collect();
    look.load(&versions)?;
    look.ask(|view| rows.iter().map(|(home, flow)| one(view, home, flow)).collect())
}

fn one(view: &View, home: &str, flow: &FlowRow) -> Result<Flow, Stop> {
    let version = view.versions.get(&flow.version)?;
    let queues = view.queues.iter().filter(|(_, queue)| queue.flow == flow.id);
    let steps = queues.map(|(_, queue)| {
        let mut tasks = Counts::default();
        tasks.add(queue.counts);
        let labels = queue.labels.iter().map(Name::to_string).collect();
        Step { step: queue.step.to_string(), labels, tasks }
    });
    Ok(Flow {
        collection: home.to_owned(),
        name: flow.name.to_string(),
        version: version.map_or_else(String::new, |v| hex(&v.digest)),
        since: version.map_or_else(String::new, |v| time::text(v.at)),
        removed: flow.removed,
        definition: version.and_then(|v| raw(&codec::to_text(&v.def))),
        steps: steps.collect(),
    })
}
