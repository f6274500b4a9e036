//! A link that signs a person in, once.

use armarius_wire::v1::login::Link;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::json;
use crate::keys::Caller;
use crate::problem::{Answer, Fault, Own};
use crate::session::CODE_LIFE;

/// `POST /api/v1/logins`
pub(crate) async fn link(State(app): State<App>, caller: Caller) -> Answer {
    let code = app.sessions().invite(&caller.key);
    let code = code.map_err(|e| Fault::own(Own::Internal, e.to_string(), "report it"))?;
    let link = Link { path: format!("/login?code={code}"), valid_s: CODE_LIFE.as_secs() };
    Ok(json(StatusCode::CREATED, &link))
}
