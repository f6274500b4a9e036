//! Work is submitted.

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::{Command, Submit};
use armarius_core::ids::BatchId;
use armarius_core::reply::Reply;
use armarius_core::text::{Name, Text};
use armarius_engine::Request;
use armarius_wire::v1::Problem;
use armarius_wire::v1::round::{self, Submitted};
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Bulk, json};
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::{Answer, Fault};

/// `POST /api/v1/rounds`
pub(crate) async fn submit(
    State(app): State<App>,
    caller: Caller,
    Bulk(rounds): Bulk<round::Submit>,
) -> Answer {
    let batches = foreign_batches(&app, &caller, &rounds).await?;
    let request = |round: round::Submit| {
        let idem = round.id.as_deref().map(Text::from);
        let command = Command::Submit(read(&caller, &round, &batches)?);
        Ok(Request { actor: caller.actor.clone(), idem, command })
    };
    let requests = rounds.into_iter().map(request).collect();
    let refused = |problem: Problem| Submitted { problem: Some(problem), ..Submitted::default() };
    let replies = super::each(&app, requests, |answer| match answer {
        Ok(Reply::Round { round, task, repeated, .. }) => {
            Submitted { round: Some(round), task: Some(task.0), repeated, problem: None }
        }
        Ok(other) => refused(*super::strange(&other).0),
        Err(problem) => refused(problem),
    });
    Ok(json(StatusCode::OK, &replies.await))
}

/// Batches in the request that a key for some collections must not fill.
async fn foreign_batches(
    app: &App,
    caller: &Caller,
    rounds: &[round::Submit],
) -> Result<Vec<i64>, Fault> {
    let mut named: Vec<i64> = rounds.iter().filter_map(|r| r.batch).collect();
    named.sort_unstable();
    named.dedup();
    if caller.scope.is_none() || named.is_empty() {
        return Ok(Vec::new());
    }
    let caller = caller.clone();
    app.look(move |look| {
        named.retain(|batch| look.visible_batch(&caller, BatchId(*batch)).is_err());
        Ok(named)
    })
    .await
}

fn read(caller: &Caller, round: &round::Submit, foreign: &[i64]) -> Result<Submit, Fault> {
    let item = ItemAddress::parse(&round.item)?;
    within(caller, &item.collection)?;
    let depends: Result<Vec<_>, _> =
        round.depends.iter().map(|text| TaskAddress::parse(text)).collect();
    let depends = depends?;
    for task in &depends {
        within(caller, &task.item.collection)?;
    }
    if let Some(batch) = round.batch.filter(|batch| foreign.contains(batch)) {
        let code = armarius_core::Code::NoSuchBatch;
        return Err(armarius_core::Refusal::new(code, format!("there is no batch {batch}")).into());
    }
    let not_before = round.not_before.as_deref().map(super::moment).transpose()?;
    Ok(Submit {
        item,
        flow: Name::new(&round.flow)?,
        payload: round.payload.as_ref().map_or("", |p| p.get()).into(),
        priority: round.priority,
        not_before,
        parts: round.parts.iter().map(|part| Text::from(&**part)).collect(),
        depends,
        batch: round.batch.map(BatchId),
    })
}
