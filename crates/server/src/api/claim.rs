//! A worker asks for work, and waits for it.

use std::collections::BTreeMap;
use std::time::Duration;

use armarius_core::address::{ItemAddress, TaskAddress, unescape};
use armarius_core::command;
use armarius_core::decide::REVISION_KIND;
use armarius_core::flow::{Action, Step};
use armarius_core::ids::Span;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::{Granted, GrantedTask};
use armarius_core::rows::{Archive, Body, Item};
use armarius_core::text::Name;
use armarius_wire::v1::claim;
use armarius_wire::v1::{Raw, raw};
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value};

use crate::app::{App, Grant};
use crate::body::{Json, json, names};
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::{Answer, Fault, Own};

/// The longest a claim may wait.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// `POST /api/v1/claims`
pub(crate) async fn claim(
    State(app): State<App>,
    caller: Caller,
    Json(request): Json<claim::Request>,
) -> Answer {
    let wanted = read(&caller, &request)?;
    let wait = Duration::from_secs(request.wait_s.into()).min(WAIT_MAX);
    let waiting = app.attendance().asks(&caller.actor, &request);
    let grant = app.claim(&caller, wanted, wait).await;
    drop(waiting);
    match grant?.and_then(Grant::take) {
        Some(granted) => Ok(json(StatusCode::OK, &with_secrets(&app, reply(granted)).await?)),
        None => Ok(super::done()),
    }
}

fn read(caller: &Caller, request: &claim::Request) -> Result<command::Claim, Fault> {
    let mut collections = names(&request.collections)?;
    for name in &collections {
        within(caller, name)?;
    }
    if let (Some(scope), true) = (&caller.scope, collections.is_empty()) {
        collections = scope.to_vec();
    }
    let steps: Result<Vec<_>, _> = request.steps.iter().map(|text| step(text)).collect();
    Ok(command::Claim {
        worker: Name::new(&request.worker)?,
        labels: names(&request.labels)?,
        steps: steps?,
        collections,
        ways: request.actions.iter().map(|way| (*way).into()).collect(),
        max: request.max,
    })
}

fn step(text: &str) -> Result<(Name, Name), Refusal> {
    let Some((flow, step)) = text.split_once('.') else {
        return Err(Refusal::new(Code::BadAddress, format!("cannot read the step {text:?}"))
            .hint("a step is written flow.step"));
    };
    Ok((Name::new(&unescape(flow)?)?, Name::new(&unescape(step)?)?))
}

/// Adds the values of the secrets that steps ask for.
async fn with_secrets(app: &App, mut reply: claim::Reply) -> Result<claim::Reply, Fault> {
    if reply.tasks.iter().all(|task| task.secrets_missing.is_empty()) {
        return Ok(reply);
    }
    let app = app.clone();
    let fetch = move || {
        for task in &mut reply.tasks {
            let names = std::mem::take(&mut task.secrets_missing);
            for name in names {
                let found = app.shelf().ok().map(|s| s.secret(&task.item.collection, &name));
                match found {
                    Some(Ok(value)) => {
                        task.secrets.insert(name, claim::Secret::new(value));
                    }
                    Some(Err(error)) => {
                        eprintln!("secret {name} of {}: {error}", task.item.collection);
                        task.secrets_missing.push(name);
                    }
                    None => task.secrets_missing.push(name),
                }
            }
        }
        reply
    };
    // Work that was granted and cannot be told comes back when its lease lapses.
    let broke = |_| Fault::own(Own::Internal, "reading secrets broke", "report it");
    tokio::task::spawn_blocking(fetch).await.map_err(broke)
}

fn reply(granted: Granted) -> claim::Reply {
    claim::Reply {
        lease: granted.lease.to_string(),
        ttl_s: seconds(granted.ttl),
        tasks: granted.tasks.into_iter().map(task).collect(),
    }
}

fn task(granted: GrantedTask) -> claim::Task {
    let GrantedTask { task, token, attempt, collection, step, item, body, version, archive } =
        granted;
    let flow = version.def.name.clone();
    // A grant is of a step of its version; a step without definition is done by whoever claims it.
    let outside = Step::outside(step.clone());
    let def = version.def.step(&step).unwrap_or(&outside);
    let revision = archive.and_then(|row| revision(&row, &collection, &item, &body, def));
    let at = ItemAddress { collection, kind: item.kind, key: item.key };
    let (part, round) = (body.part.clone(), body.round);
    let address = TaskAddress { flow, step, item: at, part, round };
    claim::Task {
        task: task.0,
        token: token.to_string(),
        attempt,
        item: claim::Item {
            address: address.item.to_string(),
            collection: address.item.collection.to_string(),
            kind: address.item.kind.to_string(),
            key: address.item.key.to_string(),
            ordinal: item.ordinal,
            types: item.types.iter().map(Name::to_string).collect(),
            attributes: raw(&item.attributes),
        },
        flow: address.flow.to_string(),
        step: address.step.to_string(),
        part: address.part.to_string(),
        round,
        address: address.to_string(),
        payload: payload(def, &body.payload),
        action: action(def),
        env: texts(&def.env),
        secrets: BTreeMap::new(),
        // Those that are found are moved over.
        secrets_missing: def.secrets.iter().map(Name::to_string).collect(),
        workdir: def.workdir.as_ref().map(|w| w.to_string()),
        timeout_s: seconds(def.timeout),
        progress_timeout_s: def.progress_timeout.map(seconds),
        version: hex(&version.digest),
        revision,
    }
}

/// What a task of a revision is told about it.
fn revision(
    row: &Archive,
    archive: &Name,
    item: &Item,
    body: &Body,
    step: &Step,
) -> Option<claim::Revision> {
    let number = item.ordinal.filter(|_| item.kind.as_str() == REVISION_KIND)?;
    let said: Value = serde_json::from_str(&item.attributes).unwrap_or_default();
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    Some(claim::Revision {
        archive: archive.to_string(),
        kind: row.kind.as_str().to_owned(),
        repo: url_of(row),
        number,
        id: text("id"),
        previous_id: text("previous_id"),
        depth: body.depth,
        source: step.source,
    })
}

/// The repository's place as a URL.
fn url_of(row: &Archive) -> String {
    if row.place.contains("://") { row.place.to_string() } else { format!("file://{}", row.place) }
}

/// The step's default parameters, overlaid by the submission's.
fn payload(step: &Step, given: &str) -> Option<Raw> {
    if step.params.is_empty() {
        return raw(given);
    }
    let mut merged: Map<String, Value> = Map::new();
    merged.extend(step.params.iter().map(|(k, v)| (k.to_string(), Value::from(&**v))));
    if let Ok(Value::Object(own)) = serde_json::from_str(given) {
        merged.extend(own);
    }
    raw(&Value::Object(merged).to_string())
}

fn action(step: &Step) -> claim::Action {
    let image = step.image.as_ref().map(|i| i.to_string());
    let base = claim::Action { image, ..claim::Action::default() };
    match &step.action {
        Action::Command(argv) => {
            let command = Some(argv.iter().map(|a| a.to_string()).collect());
            claim::Action { command, ..base }
        }
        Action::Script { text, shell } => {
            let (script, shell) = (Some(text.to_string()), Some(shell.to_string()));
            claim::Action { script, shell, ..base }
        }
        Action::Run(name) => claim::Action { run: Some(name.to_string()), ..base },
    }
}

fn texts(
    map: &BTreeMap<armarius_core::text::Text, armarius_core::text::Text>,
) -> BTreeMap<String, String> {
    map.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

/// Whole seconds, never less than one: a length of time that is there is not nothing.
pub(super) fn seconds(span: Span) -> u64 {
    u64::try_from(span.0 / 1_000_000).unwrap_or_default().max(1)
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
