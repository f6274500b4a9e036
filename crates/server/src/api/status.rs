//! How the server is.

use std::time::Duration;

use armarius_core::decide::HOUSE;
use armarius_core::text::Name;
use armarius_engine::Stage;
use armarius_wire::v1::status::{Counts, Durability, Health, Stats};
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::json;
use crate::keys::Caller;
use crate::problem::{Answer, Fault, Own};

/// `GET /healthz`: the process answers.
pub(crate) async fn health() -> Answer {
    Ok(json(StatusCode::OK, &Health { status: "ok".to_owned() }))
}

/// `GET /readyz`: the engine takes commands.
pub(crate) async fn ready(State(app): State<App>) -> Answer {
    match app.handle().stage() {
        Stage::Running => health().await,
        Stage::Stopping | Stage::Stopped | Stage::Failed(_) => Err(Fault::own(
            Own::Unavailable,
            "the server takes no requests at the moment",
            "send the same request again, with the same id, once it is back",
        )),
    }
}

/// `GET /api/v1/stats`
pub(crate) async fn stats(State(app): State<App>, caller: Caller) -> Answer {
    let read = move |look: &mut crate::look::Look<'_>| {
        let mut tasks = Counts::default();
        let visible = look.view.collections.iter().filter(|(_, c)| caller.may(&c.name));
        let ids: Vec<_> = visible.map(|(id, _)| *id).collect();
        let queues = look.view.queues.iter().filter(|(_, q)| ids.contains(&q.collection));
        queues.for_each(|(_, queue)| tasks.add(queue.counts));
        // The collection of the house is no work of anybody.
        let house = look.view.collection_names.get(&Name::trusted(HOUSE)).ok().flatten();
        let own = house.is_some_and(|id| ids.contains(id));
        Ok((tasks, ids.len() - usize::from(own)))
    };
    let (tasks, collections) = app.look(read).await?;
    let done = app.handle().stats();
    let stats = Stats {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_s: app.uptime().as_secs(),
        stage: stage(&app.handle().stage()).to_owned(),
        tasks,
        collections,
        commits: done.commits,
        commands: done.commands,
        refused: done.refused,
        failed: done.failed,
        rows: done.rows,
        waiting: done.waiting.iter().map(|(_, n)| n).sum(),
        parked: done.parked,
        commit_p50_us: micros(done.commit_p50),
        commit_p99_us: micros(done.commit_p99),
    };
    Ok(json(StatusCode::OK, &stats))
}

/// `GET /api/v1/durability`
pub(crate) async fn durability(State(app): State<App>, _: Caller) -> Answer {
    // Where the store is on its machine is nobody's business but the operator's.
    let about = app.store();
    let (store, sync) = (about.kind.to_owned(), about.sync.to_owned());
    Ok(json(StatusCode::OK, &Durability { store, sync, promise: about.promise.clone() }))
}

fn stage(stage: &Stage) -> &'static str {
    match stage {
        Stage::Running => "running",
        Stage::Stopping => "stopping",
        Stage::Stopped => "stopped",
        Stage::Failed(_) => "failed",
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
