//! A "no", as a page.

use armarius_wire::v1::Problem;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use maud::html;

use super::frame;
use crate::access;
use armarius_wire::v1::problem::CONTENT_TYPE as PROBLEM;

/// Problems are shown to people as pages; those who are not signed in are asked to.
pub(crate) async fn as_page(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let wanted = request.uri().path_and_query().map_or("/", |p| p.as_str()).to_owned();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let accept = request.headers().get("accept").and_then(|v| v.to_str().ok());
    let by_browser = accept.is_some_and(|kinds| kinds.contains("text/html"));
    let response = next.run(request).await;
    let is_problem = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == PROBLEM);
    if !(is_problem && by_browser && access::is_page(&path)) {
        return response;
    }
    if response.status() == StatusCode::UNAUTHORIZED && reads {
        let to = match &*wanted {
            "/" => "/login".to_owned(),
            wanted => format!("/login?next={}", armarius_wire::client::segment(wanted)),
        };
        return (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response();
    }
    let status = response.status();
    let Ok(body) = response.into_body().collect().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let problem: Problem = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    frame::bare(
        status,
        &problem.title,
        &html! {
            h1 { (problem.title) }
            p.lead { (sentence(&problem.detail)) }
            @if !problem.hint.is_empty() { p { (sentence(&problem.hint)) } }
            p.quiet { "Code " code { (problem.code) } ". Nothing was changed." }
            p { a href="/" { "Overview" } @if status == StatusCode::UNAUTHORIZED
                { " · " a href="/login" { "Sign in" } } }
        },
    )
}

/// The API's fragments are lower-case and without a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
