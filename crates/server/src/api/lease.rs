//! Leases: signs of life, and giving back.

use armarius_core::command::Command;
use armarius_core::ids::{LeaseId, TaskId};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows;
use armarius_core::view::Need;
use armarius_wire::v1::lease::{Heartbeat, Lease, Renewed, Stop};
use armarius_wire::v1::{Page, time};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::claim::seconds;
use crate::app::App;
use crate::body::{Json, Params, json};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// Nothing to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// `POST /api/v1/leases/{lease}/heartbeat`
pub(crate) async fn heartbeat(
    State(app): State<App>,
    caller: Caller,
    Path(lease): Path<String>,
    Json(beat): Json<Heartbeat>,
) -> Answer {
    let progress = beat.progress.into_iter().map(TaskId).collect();
    let command = Command::Heartbeat { lease: parse(&lease)?, progress };
    match app.ask(&caller, command).await? {
        Reply::Renewed { ttl, stop } => {
            let stop = stop
                .into_iter()
                .map(|(task, token)| Stop { task: task.0, token: token.to_string() });
            let renewed = Renewed { ttl_s: seconds(ttl), stop: stop.collect() };
            Ok(json(StatusCode::OK, &renewed))
        }
        other => Err(super::strange(&other)),
    }
}

/// `POST /api/v1/leases/{lease}/give-back`
pub(crate) async fn give_back(
    State(app): State<App>,
    caller: Caller,
    Path(lease): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    app.ask(&caller, Command::GiveBack { lease: parse(&lease)? }).await?;
    Ok(super::done())
}

/// How many.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    max: Option<usize>,
}

/// `GET /api/v1/leases`: those that lapse first come first.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = super::page(wanted.max);
    let look = move |look: &mut Look<'_>| read(look, &caller, max);
    Ok(json(StatusCode::OK, &Page { entries: app.look(look).await?, next: None }))
}

/// The leases that are seen, those that lapse first first.
pub(super) fn read(look: &mut Look<'_>, caller: &Caller, max: usize) -> Result<Vec<Lease>, Lost> {
    let ids = look.ask(|view| {
        let due = view.due_leases.first(&(), max)?;
        Ok(due.take(max).map(|((_, id), ())| *id).collect::<Vec<_>>())
    })?;
    let needs: Vec<Need> = ids.iter().map(|id| Need::Lease(*id)).collect();
    look.load(&needs)?;
    let mut entries = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(lease) = look.ask(|view| Ok(view.leases.get(&id)?.cloned()))? else {
            continue;
        };
        if is_visible(look, caller, &lease) {
            entries.push(show(&lease));
        }
    }
    Ok(entries)
}

/// A lease is seen by those who see all of its tasks.
pub(crate) fn is_visible(look: &mut Look<'_>, caller: &Caller, lease: &rows::Lease) -> bool {
    let mut tasks = lease.grips.iter().map(|grip| grip.task);
    caller.scope.is_none() || tasks.all(|task| look.visible_task(caller, task).is_ok())
}

fn show(lease: &rows::Lease) -> Lease {
    let stopping = lease.grips.iter().filter(|grip| grip.stopping);
    Lease {
        worker: lease.worker.to_string(),
        actor: lease.actor.to_string(),
        granted_at: time::text(lease.granted_at),
        expires_at: time::text(lease.expires_at),
        tasks: lease.grips.iter().map(|grip| grip.task.0).collect(),
        stopping: stopping.map(|grip| grip.task.0).collect(),
    }
}

/// A lease's name. One that cannot be one is as unknown as any other.
pub(super) fn parse(text: &str) -> Result<LeaseId, Refusal> {
    LeaseId::parse(text).ok_or_else(|| {
        Refusal::new(Code::NoSuchLease, "there is no such lease").hint("claim again")
    })
}
