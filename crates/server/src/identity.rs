//! Who is asking, and whether they may: looked at before anything else of a request.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{self, Found, Who};
use crate::app::App;
use crate::keys::Caller;
use crate::problem::{Fault, Own};
use crate::rehearse::Rehearsal;
use crate::session;

/// Where a request comes from, as far as the socket knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Lets a request through to its route, or says why not.
pub(crate) async fn admit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let found = access::find(request.method().as_str(), path);
    if let Found::Rule(rule) = found {
        request.extensions_mut().insert(rule);
        if rule.who == Who::Anyone {
            return next.run(request).await;
        }
    }
    let cookie = carried(&app, request.headers());
    let visitor = match &cookie {
        Some(cookie) => visitor(&app, cookie).await,
        None => Ok(None),
    };
    match visitor.and_then(|visitor| check(&app, &mut request, found, visitor)) {
        Ok(None) => next.run(request).await,
        Ok(Some(rehearsal)) => rehearsal.answer(next.run(request).await),
        Err(fault) => fault.into_response(),
    }
}

/// The cookie that counts: none where a key is shown.
fn carried(app: &App, headers: &HeaderMap) -> Option<String> {
    let cookie = cookie(app, headers).map(str::to_owned);
    cookie.filter(|_| !headers.contains_key(AUTHORIZATION))
}

/// Whoever is signed in with a cookie.
async fn visitor(app: &App, cookie: &str) -> Result<Option<Caller>, Fault> {
    let Some(session) = session::find(app, cookie).await? else { return Ok(None) };
    let caller = app.keys().holder(&session.key);
    if let Some(caller) = &caller {
        session::note(app, cookie, &session, caller);
    }
    Ok(caller)
}

/// Counts and times every answer, and notes the odd ones in the log.
pub(crate) async fn watch(State(app): State<App>, request: Request, next: Next) -> Response {
    let (began, traffic) = (Instant::now(), app.traffic());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    traffic.open.fetch_add(1, Ordering::Relaxed);
    let response = next.run(request).await;
    traffic.open.fetch_sub(1, Ordering::Relaxed);
    let (status, took) = (response.status().as_u16(), began.elapsed());
    traffic.answered(status, took);
    let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if status >= 500 {
        tracing::warn!(%method, path, status, took_us, "request failed");
    } else {
        tracing::debug!(%method, path, status, took_us, "request");
    }
    response
}

/// What is given back is where a dry run notes what would have happened.
fn check(
    app: &App,
    request: &mut Request,
    found: Found,
    visitor: Option<Caller>,
) -> Result<Option<Rehearsal>, Fault> {
    // Without a key nobody learns which routes and things exist.
    let mut caller = authenticate(app, request, visitor)?;
    if !app.rates().may_ask(&caller.key) {
        app.traffic().slowed.fetch_add(1, Ordering::Relaxed);
        let why = "this key asks too often";
        return Err(Fault::own(
            Own::TooMany,
            why,
            "wait a moment; send many things in one request",
        ));
    }
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

fn authenticate(app: &App, request: &Request, visitor: Option<Caller>) -> Result<Caller, Fault> {
    let headers = request.headers();
    let Some(value) = headers.get(AUTHORIZATION) else {
        return by_cookie(request, visitor);
    };
    let text = value.to_str().unwrap_or_default();
    let key = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let caller = key.and_then(|(_, key)| app.keys().caller(key.trim()));
    caller.ok_or_else(|| {
        let why = "this key opens nothing here";
        let fault = Fault::own(Own::KeyRefused, why, "ask an admin for a key");
        mistake(app, from(app, request), fault)
    })
}

/// Whoever is signed in. What a browser sends by itself counts only for reading, unless it also
/// says that a page of ours asked for it.
fn by_cookie(request: &Request, visitor: Option<Caller>) -> Result<Caller, Fault> {
    let Some(caller) = visitor else {
        return Err(Fault::own(
            Own::KeyMissing,
            "there is no key in the request",
            "send the header authorization: Bearer ark_…",
        ));
    };
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    if !reads && !is_ours(request.headers()) {
        return Err(not_ours());
    }
    Ok(caller)
}

/// The session's cookie, if there is one.
pub(crate) fn cookie<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    let name = cookie_name(app);
    let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

/// Browsers send cookies to every port of a host, so that each store has its own name; all its
/// servers have the same.
pub(crate) fn cookie_name(app: &App) -> String {
    format!("armarius-{}", app.keys().mark())
}

/// Whether a page of this server made the request. Browsers say so themselves, and no page can
/// make them say otherwise; a request that says nothing comes from no browser of today.
pub(crate) fn is_ours(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let origin = text("origin").and_then(|origin| origin.split_once("://"));
    origin.is_some_and(|(_, host)| Some(host) == text("host"))
}

/// The request was made by a page of somebody else.
pub(crate) fn not_ours() -> Fault {
    let why = "the request does not come from a page of this server";
    Fault::own(Own::NotAllowed, why, "open the page here and try again, or use a key")
}

/// Who is at the other end: the peer, or whom the proxy in front names last.
pub(crate) fn from(app: &App, request: &Request) -> Option<IpAddr> {
    let peer = request.extensions().get::<Peer>().map(|Peer(address)| *address);
    if !app.settings().behind_proxy {
        return peer;
    }
    let named = request.headers().get("x-forwarded-for").and_then(|value| value.to_str().ok());
    let last = named.and_then(|list| list.rsplit(',').next()).map(str::trim);
    last.and_then(|address| address.parse().ok()).or(peer)
}

/// A wrong key or code: counted, and when there were too many from one address nothing more is
/// said. Whoever has a good key is never kept waiting by others at the same address.
pub(crate) fn mistake(app: &App, from: Option<IpAddr>, fault: Fault) -> Fault {
    if from.is_none_or(|from| app.rates().may_err(from)) {
        return fault;
    }
    app.traffic().slowed.fetch_add(1, Ordering::Relaxed);
    let why = "too many wrong keys or codes came from this address";
    Fault::own(Own::TooMany, why, "wait a moment")
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let caller = parts.extensions.get::<Self>().cloned();
        // Only a route that is open to anyone has no caller, and such a route must not ask for one.
        caller.ok_or_else(|| Fault::own(Own::Internal, "the request has no caller", "report it"))
    }
}
