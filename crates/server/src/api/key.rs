//! Keys.

use armarius_core::refusal::{Code, Refusal};
use armarius_core::text::Name;
use armarius_wire::v1::Page;
use armarius_wire::v1::key::{Add, Added};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Json, json, names};
use crate::keys::Error;
use crate::problem::{Answer, Fault, Own};

/// `GET /api/v1/keys`
pub(crate) async fn list(State(app): State<App>) -> Answer {
    Ok(json(StatusCode::OK, &Page { entries: app.keys().list(), next: None }))
}

/// `POST /api/v1/keys`
pub(crate) async fn add(State(app): State<App>, Json(add): Json<Add>) -> Answer {
    let (name, collections) = (Name::new(&add.name)?, names(&add.collections)?);
    let made = beside(move || app.keys().add(&name, add.role, &collections)).await?;
    Ok(json(StatusCode::CREATED, &Added { id: made.id, key: made.text }))
}

/// `DELETE /api/v1/keys/{key}`
pub(crate) async fn revoke(State(app): State<App>, Path(id): Path<String>) -> Answer {
    beside(move || app.keys().revoke(&id)).await?;
    Ok(super::done())
}

/// Writing the file takes a while: not on a thread of the runtime.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Fault> {
    let broke = |_| Fault::own(Own::Internal, "the keys could not be changed", "report it");
    tokio::task::spawn_blocking(work).await.map_err(broke)?.map_err(|e| fault(&e))
}

fn fault(error: &Error) -> Fault {
    let why = error.to_string();
    match error {
        Error::NameTaken(_) => {
            Refusal::new(Code::AlreadyExists, why).hint("choose another name").into()
        }
        Error::TooMany => Refusal::new(Code::LimitReached, why).hint("revoke unused keys").into(),
        Error::LastAdmin => {
            Refusal::new(Code::WrongState, why).hint("make another admin key first").into()
        }
        Error::Unknown(_) => {
            Fault::own(Own::NoSuchKey, why, "`armarius key list` shows those there are")
        }
        Error::File { .. } | Error::Random(_) => {
            eprintln!("keys: {}", why.escape_debug());
            Fault::own(Own::Internal, "the keys could not be changed", "see the server's log")
        }
    }
}
