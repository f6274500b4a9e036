//! Workers: who asks for work, and who holds some.

use armarius_wire::v1::Page;
use armarius_wire::v1::lease::Lease;
use armarius_wire::v1::worker::Worker;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::json;
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::Answer;

/// Leases that are looked at.
const LEASES_MAX: usize = 10_000;

/// `GET /api/v1/workers`: those that asked this server lately, and those that hold something.
/// Whoever sees only some collections sees only workers that hold tasks there.
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let sees_all = caller.scope.is_none();
    let look = move |look: &mut Look<'_>| super::lease::read(look, &caller, LEASES_MAX);
    let leases = app.look(look).await?;
    let mut entries = if sees_all { app.attendance().list() } else { Vec::new() };
    leases.into_iter().for_each(|lease| add(&mut entries, lease));
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

fn add(workers: &mut Vec<Worker>, lease: Lease) {
    let is_its = |known: &&mut Worker| known.worker == lease.worker && known.actor == lease.actor;
    match workers.iter_mut().find(is_its) {
        Some(known) => known.tasks.extend(lease.tasks),
        None => {
            let Lease { worker, actor, tasks, .. } = lease;
            workers.push(Worker { worker, actor, tasks, ..Worker::default() });
        }
    }
}
