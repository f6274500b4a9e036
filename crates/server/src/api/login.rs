//! A link that signs a person in, once.

use armarius_core::limits::LINK_SECONDS_MAX;
use armarius_wire::v1::login::Link;
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::json;
use crate::keys::Caller;
use crate::problem::{Answer, Fault, Own};
use crate::session::Pass;

/// `POST /api/v1/logins`
pub(crate) async fn link(State(app): State<App>, caller: Caller) -> Answer {
    let link = Pass::link(&caller.key);
    let link = link.map_err(|e| Fault::own(Own::Internal, e.to_string(), "report it"))?;
    app.ask(&caller, link.command).await?;
    let path = format!("/login?code={}", link.secret);
    Ok(json(StatusCode::CREATED, &Link { path, valid_s: LINK_SECONDS_MAX.unsigned_abs() }))
}
