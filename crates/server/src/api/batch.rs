//! Batches.

use armarius_core::command::Command;
use armarius_core::ids::BatchId;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows;
use armarius_core::text::Name;
use armarius_core::view::{Stop, View};
use armarius_wire::v1::Page;
use armarius_wire::v1::batch::{Batch, Open, Opened};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::lease::Nothing;
use crate::app::App;
use crate::body::{Json, Params, json, number};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, item_address};
use crate::problem::{Answer, Fault};

/// `POST /api/v1/batches`
pub(crate) async fn open(State(app): State<App>, caller: Caller, Json(open): Json<Open>) -> Answer {
    let collection = Name::new(&open.collection)?;
    within(&caller, &collection)?;
    let command = Command::OpenBatch { collection, key: open.key.as_str().into() };
    match app.ask_once(&caller, open.id.as_deref(), command).await? {
        Reply::Batch(BatchId(batch)) => Ok(json(StatusCode::CREATED, &Opened { batch })),
        other => Err(super::strange(&other)),
    }
}

/// `POST /api/v1/batches/{batch}/seal`
pub(crate) async fn seal(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    steer(&app, &caller, &batch, |batch| Command::SealBatch { batch }).await
}

/// `POST /api/v1/batches/{batch}/cancel`
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    steer(&app, &caller, &batch, |batch| Command::CancelBatch { batch }).await
}

/// `POST /api/v1/batches/{batch}/retry`
pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    steer(&app, &caller, &batch, |batch| Command::RetryBatch { batch }).await
}

/// `POST /api/v1/batches/{batch}/report`
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    steer(&app, &caller, &batch, |batch| Command::ReportBatch { batch }).await
}

/// `DELETE /api/v1/batches/{batch}`
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
) -> Answer {
    steer(&app, &caller, &batch, |batch| Command::DeleteBatch { batch }).await
}

async fn steer(
    app: &App,
    caller: &Caller,
    batch: &str,
    command: impl FnOnce(BatchId) -> Command,
) -> Answer {
    let batch = BatchId(number("batch", batch)?);
    visible(app, caller, batch).await?;
    app.ask(caller, command(batch)).await?;
    Ok(super::done())
}

/// Refuses a batch outside of the key's collections. A key for all needs no look.
pub(crate) async fn visible(app: &App, caller: &Caller, batch: BatchId) -> Result<(), Fault> {
    if caller.scope.is_none() {
        return Ok(());
    }
    let caller = caller.clone();
    app.look(move |look| look.visible_batch(&caller, batch)).await
}

/// `GET /api/v1/batches/{batch}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(batch): Path<String>,
) -> Answer {
    let id = BatchId(number("batch", &batch)?);
    let look = move |look: &mut Look<'_>| {
        look.visible_batch(&caller, id)?;
        look.ask(|view| match view.batches.get(&id)? {
            Some(batch) => shown(view, batch),
            None => Err(Refusal::new(Code::NoSuchBatch, format!("there is no batch {id}")).into()),
        })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// From where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/batches`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = super::page(wanted.max);
    let below = wanted.cursor.map(BatchId);
    let look = move |look: &mut Look<'_>| {
        let mut rows = look.reader.batches(below, max)?;
        let next = rows.last().filter(|_| rows.len() == max).map(|batch| batch.id.to_string());
        let home = |view: &View, batch: &rows::Batch| {
            let found = view.collections.iter().find(|(id, _)| **id == batch.collection);
            found.is_some_and(|(_, c)| caller.may(&c.name))
        };
        rows.retain(|batch| home(&look.view, batch));
        let entries = look.ask(|view| rows.iter().map(|batch| shown(view, batch)).collect())?;
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look::<Page<Batch>>(look).await?))
}

pub(crate) fn shown(view: &View, batch: &rows::Batch) -> Result<Batch, Stop> {
    Ok(Batch {
        batch: batch.id.0,
        item: item_address(view, batch.item)?,
        state: batch.state.as_str().to_owned(),
        total: batch.total,
        open: batch.open,
        done: batch.done,
        failed: batch.failed,
        cancelled: batch.cancelled,
        generation: batch.generation,
    })
}
