//! A worker listens for tasks that are to be stopped, instead of learning it with its next sign of
//! life.

use std::time::Duration;

use armarius_core::ids::LeaseId;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::view::Need;
use armarius_wire::v1::lease::{Listen, Stop, Stops};
use axum::extract::State;
use axum::http::StatusCode;
use tokio::time::Instant;

use super::lease::parse;
use crate::app::App;
use crate::body::{Json, json};
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::Answer;

/// The longest a call may wait.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Leases that one call may name.
const LEASES_MAX: usize = 1_000;
/// However much is committed, a listener looks no more often.
const REST: Duration = Duration::from_millis(200);

/// `POST /api/v1/leases/stops`
pub(crate) async fn listen(
    State(app): State<App>,
    caller: Caller,
    Json(wanted): Json<Listen>,
) -> Answer {
    let leases = leases(&wanted)?;
    let end = Instant::now() + Duration::from_secs(wanted.wait_s.into()).min(WAIT_MAX);
    let mut news = app.pulse().watch(&app);
    loop {
        news.mark_unchanged();
        let (caller, leases) = (caller.clone(), leases.clone());
        let stop = app.look(move |look| stops(look, &caller, &leases)).await?;
        if !stop.is_empty() || Instant::now() >= end || app.pulse().is_closed() {
            return Ok(json(StatusCode::OK, &Stops { stop }));
        }
        tokio::time::sleep_until(end.min(Instant::now() + REST)).await;
        // Whether there is news or time is up, what is there now is the answer.
        drop(tokio::time::timeout_at(end, news.changed()).await);
    }
}

fn leases(wanted: &Listen) -> Result<Vec<LeaseId>, Refusal> {
    if wanted.leases.len() > LEASES_MAX {
        let why = format!("{} leases, at most {LEASES_MAX} at a time", wanted.leases.len());
        return Err(Refusal::new(Code::TooLarge, why).hint("ask for fewer in one call"));
    }
    wanted.leases.iter().map(|lease| parse(lease)).collect()
}

/// What is to stop in leases of the caller; those of others are as good as unknown.
fn stops(look: &mut Look<'_>, caller: &Caller, leases: &[LeaseId]) -> Result<Vec<Stop>, Lost> {
    look.load(&leases.iter().map(|id| Need::Lease(*id)).collect::<Vec<_>>())?;
    look.ask(|view| {
        let mut stops = Vec::new();
        for id in leases {
            let Some(lease) = view.leases.get(id)?.filter(|l| l.actor == caller.actor) else {
                continue;
            };
            let stopping = lease.grips.iter().filter(|grip| grip.stopping);
            stops.extend(stopping.map(|g| Stop { task: g.task.0, token: g.token.to_string() }));
        }
        Ok(stops)
    })
}
