//! Revisions: what each ran, when, and what came of it.

use std::collections::BTreeMap;

use armarius_core::address::ItemAddress;
use armarius_core::decide::revision_address;
use armarius_core::event::Event;
use armarius_core::ids::{ItemId, TaskId, VersionId};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows::{Archive, Body, Item, ItemKey, Task as Row};
use armarius_core::task::{Cause, State as Stand};
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::Page;
use armarius_wire::v1::archive::{Revision, Task};
use armarius_wire::v1::time;
use axum::body::Body as Content;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::Value;

use super::archive::{archive, revision_of};
use super::savings;
use crate::app::App;
use crate::body::{Params, json};
use crate::keys::Caller;
use crate::look::{Look, Lost, find_item};
use crate::problem::Answer;
use crate::stream::FileBody;

/// Revisions on one page of the log.
const PAGE_MAX: usize = 200;
/// Revisions on a page, unless the caller says otherwise.
const PAGE_DEFAULT: usize = 20;
/// Events of one revision that are read for its times.
const EVENTS_MAX: usize = 20_000;
/// Tasks of one revision that are shown.
const TASKS_MAX: usize = 4_000;

/// Which part of the log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/archives/{archive}/log`: newest first, below the cursor.
pub(crate) async fn log(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = wanted.max.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX);
    let look = move |look: &mut Look<'_>| {
        let row = archive(look, &caller, &name)?;
        let (bottom, top) = span(&row, wanted.cursor.map(|below| below - 1), max);
        let name = Name::new(&name)?;
        gather(look, &name, bottom, top)?;
        let mut entries = Vec::new();
        for revision in (bottom..=top).rev() {
            entries.extend(read(look, &name, revision)?.map(|planned| planned.revision));
        }
        savings::note(&mut entries.iter_mut().collect::<Vec<_>>());
        let next = (bottom > row.first).then(|| bottom.to_string());
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, i64)>,
) -> Answer {
    let look = move |look: &mut Look<'_>| {
        archive(look, &caller, &name)?;
        let found = read(look, &Name::new(&name)?, revision)?;
        found.map(|planned| planned.revision).ok_or_else(|| unknown(&name, revision).into())
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}/paths`
pub(crate) async fn paths(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, i64)>,
) -> Answer {
    let look = move |look: &mut Look<'_>| revision_of(look, &caller, &name, Some(revision));
    let (row, revision, id) = app.look(look).await?;
    let text = app.beside(move |repositories| repositories.changes(&row, revision, &id)).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}/export`
pub(crate) async fn export(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, i64)>,
) -> Answer {
    let look = move |look: &mut Look<'_>| revision_of(look, &caller, &name, Some(revision));
    let (row, revision, id) = app.look(look).await?;
    let file = app.beside(move |repositories| repositories.export(&row, revision, &id)).await?;
    let mut response = Response::new(Content::new(FileBody::new(file)));
    let kind = axum::http::HeaderValue::from_static("application/x-tar");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// Asks for the revisions of a page together instead of one by one.
pub(crate) fn gather(
    look: &mut Look<'_>,
    archive: &Name,
    bottom: i64,
    top: i64,
) -> Result<(), Lost> {
    let home = look.ask(|view| Ok(view.collection_names.get(archive)?.copied()))?;
    let Some(collection) = home else { return Ok(()) };
    let key = |revision| {
        let ItemAddress { kind, key, .. } = revision_address(archive, revision);
        ItemKey { collection, kind, key }
    };
    let keys: Vec<ItemKey> = (bottom..=top).map(key).collect();
    let needs: Vec<Need> = keys.iter().filter_map(|k| look.view.item_keys.missing(k)).collect();
    look.load(&needs)?;
    let items = keys.iter().filter_map(|key| look.view.item_keys.get(key).ok().flatten());
    let needs: Vec<Need> = items.filter_map(|id| look.view.items.missing(id)).collect();
    Ok(look.load(&needs)?)
}

/// A revision, and what its tasks were planned from.
pub(crate) struct Planned {
    pub(crate) revision: Revision,
    /// In the order of its tasks: the version of the flow, and the task that replaced it.
    pub(crate) origins: Vec<(VersionId, Option<TaskId>)>,
}

/// The revisions of one page of the log: its oldest and its youngest.
pub(crate) fn span(row: &Archive, top: Option<i64>, max: usize) -> (i64, i64) {
    let youngest = row.planned.max(row.noticed).max(row.youngest);
    let top = top.map_or(youngest, |top| top.min(youngest));
    let count = i64::try_from(max).unwrap_or(i64::MAX);
    (row.first.max(top.saturating_sub(count - 1)), top)
}

pub(crate) fn unknown(archive: &str, revision: i64) -> Refusal {
    let why = format!("revision {revision} of archive {archive} is not known");
    let hint = format!("`armarius archive log {archive}` shows those there are");
    Refusal::new(Code::NoSuchItem, why).hint(hint)
}

/// A revision with its tasks; `None` when nobody has heard of it.
pub(crate) fn read(
    look: &mut Look<'_>,
    archive: &Name,
    number: i64,
) -> Result<Option<Planned>, Lost> {
    let at = revision_address(archive, number);
    let item = look.ask(|view| match find_item(view, &at)? {
        Some(id) => Ok(view.items.get(&id)?.cloned()),
        None => Ok(None),
    })?;
    let Some(item) = item else { return Ok(None) };
    let filter = TaskFilter { item: Some(item.id), max: TASKS_MAX, ..TaskFilter::default() };
    let mut tasks = look.reader.tasks(&filter)?;
    tasks.reverse();
    let events = look.reader.events(item.id, 0, EVENTS_MAX)?;
    let replaced = tasks.iter().filter_map(|(_, row)| match row.cause {
        Cause::Superseded(by) => look.view.bodies.missing(&by),
        _ => None,
    });
    let needs: Vec<Need> = replaced.collect();
    if !needs.is_empty() {
        look.load(&needs)?;
    }
    let times = Times::of(&events);
    let mut revision = told(number, &item, &events);
    for (body, row) in &tasks {
        revision.tasks.push(shown(look, body, row, &times)?);
    }
    revision.state = state(&revision, &tasks).to_owned();
    let origin = |(body, row): &(Body, Row)| match row.cause {
        Cause::Superseded(by) => (body.version, Some(by)),
        _ => (body.version, None),
    };
    let origins = tasks.iter().map(origin).collect();
    Ok(Some(Planned { revision, origins }))
}

/// What is known of the revision itself.
fn told(number: i64, item: &Item, events: &[Event]) -> Revision {
    let said: Value = serde_json::from_str(&item.attributes).unwrap_or_default();
    let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
    let mut revision = Revision {
        revision: number,
        seen_at: time::text(item.first_seen_at),
        id: text("id"),
        author: text("author"),
        at: said["at_us"]
            .as_i64()
            .map(|us| time::text(armarius_core::ids::Time(us)))
            .unwrap_or_default(),
        message: text("message"),
        paths: said["paths"].as_u64().unwrap_or_default(),
        cause: said["cause"]["task"].as_str().unwrap_or_default().to_owned(),
        depth: said["cause"]["depth"].as_u64().and_then(|d| d.try_into().ok()).unwrap_or_default(),
        ..Revision::default()
    };
    for event in events {
        let verdict = match event.name.as_str() {
            "revision.planned" => "planned",
            "revision.invalid" => "invalid",
            "revision.untrusted" => "untrusted",
            "revision.runaway" => "runaway",
            "revision.skipped" => "skipped",
            _ => continue,
        };
        verdict.clone_into(&mut revision.state);
        let detail = event.detail.as_deref().unwrap_or_default();
        revision.remarks = remarks(verdict, &serde_json::from_str(detail).unwrap_or_default());
    }
    revision
}

fn remarks(verdict: &str, detail: &Value) -> Vec<String> {
    let list = |key: &str| detail[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match verdict {
        "invalid" => list("problems")
            .iter()
            .map(|p| match p["line"].as_u64().unwrap_or_default() {
                0 => format!("{}: {}", text(&p["file"]), text(&p["reason"])),
                line => format!("{}:{line}: {}", text(&p["file"]), text(&p["reason"])),
            })
            .collect(),
        "untrusted" => list("flows")
            .iter()
            .map(|f| {
                let tasks: Vec<String> =
                    f["tasks"].as_array().into_iter().flatten().map(text).collect();
                let flow = text(&f["flow"]);
                format!("not run, the archive is not trusted: {flow} ({})", tasks.join(", "))
            })
            .collect(),
        "runaway" => vec![format!(
            "nothing of it runs: {} revisions made by tasks stand behind it, more than {}",
            detail["depth"], detail["max"]
        )],
        "skipped" => vec![format!("skipped: {}", text(&detail["reason"]))],
        _ => list("left_out")
            .iter()
            .map(|f| format!("left out: {}, {}", text(&f["flow"]), text(&f["why"])))
            .collect(),
    }
}

/// How a revision stands.
fn state<'r>(revision: &'r Revision, tasks: &[(Body, Row)]) -> &'r str {
    match revision.state.as_str() {
        "" => return "awaited",
        "planned" => {}
        other => return other,
    }
    let any = |stand: fn(&Row) -> bool| tasks.iter().any(|(_, row)| stand(row));
    let commit = tasks.first().map(|(_, row)| row.state);
    if commit == Some(Stand::Waiting) {
        "waiting"
    } else if any(|row| matches!(row.state, Stand::Ready | Stand::Leased | Stand::Held)) {
        "open"
    } else if any(|row| row.state == Stand::Failed || row.cause == Cause::Operator) {
        "failed"
    } else if any(|row| !row.state.is_settled()) {
        "open"
    } else {
        "done"
    }
}

/// When each task was last taken up, by whom, when it settled and with what.
struct Times(BTreeMap<TaskId, Last>);

/// The last run of a task.
#[derive(Clone, Default)]
struct Last {
    started_at: String,
    ended_at: String,
    worker: String,
    exit_code: Option<i64>,
}

impl Times {
    fn of(events: &[Event]) -> Self {
        let mut times: BTreeMap<TaskId, Last> = BTreeMap::new();
        for event in events {
            let (Some(task), Some(to)) = (event.task, event.to) else { continue };
            let entry = times.entry(task).or_default();
            let detail = event.detail.as_deref();
            match to {
                Stand::Leased => {
                    entry.started_at = time::text(event.at);
                    entry.ended_at.clear();
                    entry.worker = detail.unwrap_or(&event.actor).to_owned();
                }
                Stand::Done | Stand::Failed | Stand::Cancelled => {
                    entry.ended_at = time::text(event.at);
                    entry.exit_code = detail.and_then(exit_code);
                }
                Stand::Waiting | Stand::Held | Stand::Ready => entry.ended_at.clear(),
            }
        }
        Self(times)
    }
}

/// What a program ended with, as its worker says.
fn exit_code(detail: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Ended {
        exit_code: Option<i64>,
    }
    serde_json::from_str::<Ended>(detail).ok()?.exit_code
}

fn shown(look: &mut Look<'_>, body: &Body, row: &Row, times: &Times) -> Result<Task, Lost> {
    let (flow, name) = look.ask(|view| {
        let flow = view.flows.get(&body.flow)?.map(|f| f.name.to_string());
        let step = view.queues.get(&body.queue)?.map(|q| q.step.to_string());
        Ok((flow.unwrap_or_default(), step.unwrap_or_default()))
    })?;
    let superseded_by = match row.cause {
        Cause::Superseded(by) => short(look, by, body.item)?,
        _ => String::new(),
    };
    let last = times.0.get(&body.id).cloned().unwrap_or_default();
    Ok(Task {
        task: body.id.0,
        name,
        flow,
        round: body.round,
        state: row.state.as_str().to_owned(),
        cause: row.cause.as_str().to_owned(),
        superseded_by,
        attempts: row.attempts,
        planned_at: time::text(body.created_at),
        started_at: last.started_at,
        ended_at: last.ended_at,
        worker: last.worker,
        exit_code: last.exit_code,
        saved_ms: None,
    })
}

/// `NAME@REVISION`, or just the name within the same revision.
fn short(look: &mut Look<'_>, task: TaskId, home: ItemId) -> Result<String, Lost> {
    look.ask(|view| {
        let Some(body) = view.bodies.get(&task)? else { return Ok(format!("task {task}")) };
        let step = view.queues.get(&body.queue)?.map(|q| q.step.to_string()).unwrap_or_default();
        let item = view.items.get(&body.item)?;
        Ok(match item.filter(|item| item.id != home) {
            Some(item) => format!("{step}@{}", item.key),
            None => step,
        })
    })
}
