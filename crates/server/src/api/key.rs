//! Keys.

use armarius_core::command::{ChangeKey, Command};
use armarius_core::text::Name;
use armarius_wire::v1::Page;
use armarius_wire::v1::key::{Add, Added, Change};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Json, json, names};
use crate::keys::{Caller, Error, Fresh};
use crate::problem::{Answer, Fault, Own};

/// `GET /api/v1/keys`
pub(crate) async fn list(State(app): State<App>) -> Answer {
    Ok(json(StatusCode::OK, &Page { entries: app.keys().list(), next: None }))
}

/// `POST /api/v1/keys`
pub(crate) async fn add(State(app): State<App>, caller: Caller, Json(add): Json<Add>) -> Answer {
    let made = make(&app, &caller, add).await?;
    Ok(json(StatusCode::CREATED, &Added { id: made.id, key: made.text }))
}

/// Makes a key; in a dry run it opens nothing.
pub(crate) async fn make(app: &App, caller: &Caller, add: Add) -> Result<Fresh, Fault> {
    let (name, collections) = (Name::new(&add.name)?, names(&add.collections)?);
    let fresh = Fresh::new().map_err(fault)?;
    let command = fresh.command(&name, add.role, &collections);
    tell(app, caller, command).await?;
    Ok(fresh)
}

/// `PUT /api/v1/keys/{key}`
pub(crate) async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Json(change): Json<Change>,
) -> Answer {
    let collections = change.collections.as_deref().map(names).transpose()?;
    let (id, role) = (Name::new(&id)?, change.role.map(Into::into));
    tell(&app, &caller, Command::ChangeKey(ChangeKey { id, role, collections })).await?;
    Ok(super::done())
}

/// `DELETE /api/v1/keys/{key}`
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Answer {
    end(&app, &caller, &id).await?;
    Ok(super::done())
}

/// Ends a key, at once.
pub(crate) async fn end(app: &App, caller: &Caller, id: &str) -> Result<(), Fault> {
    tell(app, caller, Command::RevokeKey { id: Name::new(id)? }).await
}

/// Changes the keys, and this server's copy of them before it answers.
async fn tell(app: &App, caller: &Caller, command: Command) -> Result<(), Fault> {
    app.ask(caller, command).await?;
    let own = app.clone();
    beside(move || own.keys().refresh()).await
}

/// Reading back takes a while: not on a thread of the runtime.
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
