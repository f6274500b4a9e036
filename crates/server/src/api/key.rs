//! Keys.

use armarius_core::text::Name;
use armarius_wire::v1::Page;
use armarius_wire::v1::key::{Add, Added, Change};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Json, json, names};
use crate::keys::{Caller, Error};
use crate::problem::{Answer, Fault, Own};

/// `GET /api/v1/keys`
pub(crate) async fn list(State(app): State<App>) -> Answer {
    Ok(json(StatusCode::OK, &Page { entries: app.keys().list(), next: None }))
}

/// `POST /api/v1/keys`
pub(crate) async fn add(State(app): State<App>, caller: Caller, Json(add): Json<Add>) -> Answer {
    let (name, collections) = (Name::new(&add.name)?, names(&add.collections)?);
    let made = beside(move || app.keys().add(&caller.actor, &name, add.role, &collections)).await?;
    Ok(json(StatusCode::CREATED, &Added { id: made.id, key: made.text }))
}

/// `PUT /api/v1/keys/{key}`
pub(crate) async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(change): Json<Change>,
) -> Answer {
    let collections = change.collections.as_deref().map(names).transpose()?;
    beside(move || app.keys().change(&caller.actor, &id, change.role, collections)).await?;
    Ok(super::done())
}

/// `DELETE /api/v1/keys/{key}`
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer {
    beside(move || app.keys().revoke(&caller.actor, &id)).await?;
    Ok(super::done())
}

/// The commit and the reading back take a while: not on a thread of the runtime.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Fault> {
    let broke = |_| Fault::own(Own::Internal, "the keys could not be changed", "report it");
    tokio::task::spawn_blocking(work).await.map_err(broke)?.map_err(fault)
}

fn fault(error: Error) -> Fault {
    match error {
        Error::Engine(error) => error.into(),
        Error::File { .. } | Error::Random(_) => {
            tracing::error!("keys: {}", error.to_string().escape_debug());
            Fault::own(Own::Internal, "the keys could not be changed", "see the server's log")
        }
    }
}
