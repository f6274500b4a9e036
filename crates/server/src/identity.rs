//! Who is asking, and whether they may: looked at before anything else of a request.

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{self, Found, Who};
use crate::app::App;
use crate::keys::Caller;
use crate::problem::{Fault, Own};
use crate::rehearse::Rehearsal;

/// Lets a request through to its route, or says why not.
pub(crate) async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    match check(&app, &mut request) {
        Ok(None) => next.run(request).await,
        Ok(Some(rehearsal)) => rehearsal.answer(next.run(request).await),
        Err(fault) => fault.into_response(),
    }
}

/// What is given back is where a dry run notes what would have happened.
fn check(app: &App, request: &mut Request) -> Result<Option<Rehearsal>, Fault> {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let found = access::find(request.method().as_str(), path);
    if let Found::Rule(rule) = found {
        request.extensions_mut().insert(rule);
        if rule.who == Who::Anyone {
            return Ok(None);
        }
    }
    // Without a key nobody learns which routes and things exist.
    let mut caller = authenticate(app, request.headers())?;
    match found {
        Found::Rule(rule) => {
            permit(&caller, rule.who)?;
            caller.rehearsal = Rehearsal::asked_for(rule, request.uri())?;
        }
        Found::OtherMethod => {
            let method = request.method();
            let why = format!("{method} is not possible here");
            return Err(Fault::own(Own::WrongMethod, why, "see the documentation of this call"));
        }
        Found::Nothing => {
            let why = format!("there is nothing at {}", request.uri().path());
            return Err(Fault::own(Own::NoSuchRoute, why, "calls begin with /api/v1/"));
        }
    }
    let rehearsal = caller.rehearsal.clone();
    request.extensions_mut().insert(caller);
    Ok(rehearsal)
}

fn permit(caller: &Caller, who: Who) -> Result<(), Fault> {
    let may = match who {
        Who::Anyone => true,
        Who::Roles(roles) => roles.contains(&caller.role),
        Who::WholeAdmin => {
            caller.role == armarius_wire::v1::key::Role::Admin && caller.scope.is_none()
        }
    };
    if may { Ok(()) } else { Err(not_allowed(caller)) }
}

/// The key's role is not enough for this.
fn not_allowed(caller: &Caller) -> Fault {
    let why = format!("a key with the role {} may not do this", caller.role.as_str());
    Fault::own(Own::NotAllowed, why, "use a key with another role")
}

/// Refuses what lies outside of the key's collections, whether it exists or not.
pub(crate) fn within(caller: &Caller, collection: &str) -> Result<(), Fault> {
    if caller.may(collection) {
        return Ok(());
    }
    let why = format!("this key is not for the collection {collection}");
    Err(Fault::own(Own::NotAllowed, why, "use a key for that collection"))
}

fn authenticate(app: &App, headers: &HeaderMap) -> Result<Caller, Fault> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(Fault::own(
            Own::KeyMissing,
            "there is no key in the request",
            "send the header authorization: Bearer ark_…",
        ));
    };
    let text = value.to_str().unwrap_or_default();
    let key = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let caller = key.and_then(|(_, key)| app.keys().caller(key.trim()));
    caller.ok_or_else(|| {
        Fault::own(Own::KeyRefused, "this key opens nothing here", "ask an admin for a key")
    })
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let caller = parts.extensions.get::<Self>().cloned();
        // Only a route that is open to anyone has no caller, and such a route must not ask for one.
        caller.ok_or_else(|| Fault::own(Own::Internal, "the request has no caller", "report it"))
    }
}
