//! Answers that have not changed need not be sent again.
//!
//! What programs read again and again carries a digest of its content. Whoever sends it back with
//! `If-None-Match` is told in a few bytes that nothing is new.

use armarius_core::event::digest;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt as _;

/// Tags JSON answers to reading calls.
pub(crate) async fn tag(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD)
        && request.uri().path().starts_with("/api/");
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    let is_json =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if !reads || response.status() != StatusCode::OK || !is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // These bodies are whole already; collecting them waits for nothing.
    let Ok(bytes) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    let tag = of(&bytes);
    let is_known = known.as_ref().and_then(|known| known.to_str().ok()).is_some_and(|known| {
        known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag)
    });
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        parts.headers.insert(ETAG, tag);
    }
    parts.headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(bytes))
}

fn of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let hex: String = digest(&text).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}
