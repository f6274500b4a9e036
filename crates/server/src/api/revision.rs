//! Revisions: what each ran, when, and what came of it.

use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows::Archive;
use armarius_core::text::Name;
use armarius_wire::v1::Page;
use axum::body::Body as Content;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

use super::archive::{archive, revision_of};
use super::planned::{read, read_span};
use super::savings;
use crate::app::App;
use crate::body::{Params, json, number};
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::Answer;
use crate::stream::FileBody;

/// Revisions on one page of the log.
const PAGE_MAX: usize = 200;
/// Revisions on a page, unless the caller says otherwise.
const PAGE_DEFAULT: usize = 20;

/// Which part of the log.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/archives/{archive}/log`: newest first, below the cursor.
pub(crate) async fn log(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = wanted.max.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX);
    let look = move |look: &mut Look<'_>| {
        let row = archive(look, &caller, &name)?;
        let (bottom, top) = span(&row, wanted.cursor.map(|below| below - 1), max);
        let name = Name::new(&name)?;
        let known = read_span(look, &name, bottom, top)?;
        let mut entries: Vec<_> = known.into_iter().map(|planned| planned.revision).collect();
        savings::note(&mut entries.iter_mut().collect::<Vec<_>>());
        let next = (bottom > row.first).then(|| bottom.to_string());
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, String)>,
) -> Answer {
    let revision = number("revision", &revision)?;
    let look = move |look: &mut Look<'_>| {
        archive(look, &caller, &name)?;
        let found = read(look, &Name::new(&name)?, revision)?;
        found.map(|planned| planned.revision).ok_or_else(|| unknown(&name, revision).into())
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}/paths`
pub(crate) async fn paths(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, String)>,
) -> Answer {
    let revision = number("revision", &revision)?;
    let look = move |look: &mut Look<'_>| revision_of(look, &caller, &name, Some(revision));
    let (row, revision, id) = app.look(look).await?;
    let text = app.beside(move |repositories| repositories.changes(&row, revision, &id)).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// `GET /api/v1/archives/{archive}/revisions/{revision}/export`
pub(crate) async fn export(
    State(app): State<App>,
    caller: Caller,
    Path((name, revision)): Path<(String, String)>,
) -> Answer {
    let revision = number("revision", &revision)?;
    let look = move |look: &mut Look<'_>| revision_of(look, &caller, &name, Some(revision));
    let (row, revision, id) = app.look(look).await?;
    let file = app.beside(move |repositories| repositories.export(&row, revision, &id)).await?;
    let mut response = Response::new(Content::new(FileBody::new(file)));
    let kind = axum::http::HeaderValue::from_static("application/x-tar");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// The revisions of one page of the log: its oldest and its youngest.
pub(crate) fn span(row: &Archive, top: Option<i64>, max: usize) -> (i64, i64) {
    let youngest = row.planned.max(row.noticed).max(row.youngest);
    let top = top.map_or(youngest, |top| top.min(youngest));
    let count = i64::try_from(max).unwrap_or(i64::MAX);
    (row.first.max(top.saturating_sub(count - 1)), top)
}

pub(crate) fn unknown(archive: &str, revision: i64) -> Refusal {
    let why = format!("revision {revision} of archive {archive} is not known");
    let hint = format!("`armarius archive log {archive}` shows those there are");
    Refusal::new(Code::NoSuchItem, why).hint(hint)
}
