//! What is taken from a request: bodies, queries and addresses, each within its limits.

use std::time::Duration;

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::refusal::Refusal;
use armarius_core::text::Name;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::access::Rule;
use crate::problem::{Fault, Own};

/// How long a body may take to arrive.
const BODY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How deep JSON may be nested.
const DEPTH_MAX: usize = 64;
/// Elements of one bulk.
pub(crate) const ELEMENTS_MAX: usize = 10_000;

/// A JSON body. Where nothing is sent at all it is read as `{}`.
pub(crate) struct Json<T>(pub(crate) T);

/// An array of things, none of which stands or falls with another.
pub(crate) struct Bulk<T>(pub(crate) Vec<T>);

/// What a form sends; unknown names are refused.
pub(crate) struct Form<T>(pub(crate) T);

/// A text body and its content type.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) kind: String,
}

/// A body of bytes.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// The query of a URL; unknown names are refused.
pub(crate) struct Params<T>(pub(crate) T);

/// The item in a URL's path: the rest of the path as it was sent.
pub(crate) struct ItemPath(pub(crate) ItemAddress);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let (kind, bytes) = read(request).await?;
        let bytes = if bytes.is_empty() { b"{}".to_vec() } else { bytes };
        let named = &*kind == "application/json" || (kind.is_empty() && bytes == b"{}");
        if !named {
            return Err(wrong_kind(&kind, "application/json"));
        }
        decode(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Bulk<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let Json(elements) = Json::<Vec<T>>::from_request(request, state).await?;
        if elements.len() > ELEMENTS_MAX {
            return Err(Fault::own(
                Own::BodyTooLarge,
                format!("{} elements, more than {ELEMENTS_MAX}", elements.len()),
                "send them in several requests",
            ));
        }
        Ok(Self(elements))
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Form<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let (kind, bytes) = read(request).await?;
        let wanted = "application/x-www-form-urlencoded";
        if kind != wanted {
            return Err(wrong_kind(&kind, wanted));
        }
        serde_urlencoded::from_bytes(&bytes).map(Self).map_err(|e| {
            let why = format!("cannot read the form: {e}");
            Fault::own(Own::BadRequest, why, "go back and fill it in again")
        })
    }
}

impl<S: Sync> FromRequest<S> for Text {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let (kind, bytes) = read(request).await?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Fault::own(Own::BadRequest, "the body is not UTF-8", "send UTF-8 text"))?;
        Ok(Self { text, kind })
    }
}

impl<S: Sync> FromRequest<S> for Bytes {
    type Rejection = Fault;

    async fn from_request(request: Request, _: &S) -> Result<Self, Fault> {
        let (kind, bytes) = read(request).await?;
        if kind != "application/octet-stream" {
            return Err(wrong_kind(&kind, "application/octet-stream"));
        }
        Ok(Self(bytes))
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(params)| Self(params)).map_err(|e| {
            let why = format!("cannot read the query: {}", e.body_text());
            Fault::own(Own::BadRequest, why, "check names and values behind the ?")
        })
    }
}

impl<S: Sync> FromRequestParts<S> for ItemPath {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Fault> {
        Ok(Self(item_in(&parts.uri)?))
    }
}

/// The address is taken as it stands in the URL: its escapes and those of URLs are the same.
fn item_in(uri: &Uri) -> Result<ItemAddress, Refusal> {
    let path = uri.path();
    ItemAddress::parse(path.strip_prefix("/api/v1/items/").unwrap_or(path))
}

/// A number in a path.
pub(crate) fn number(what: &str, text: &str) -> Result<i64, Fault> {
    text.parse().map_err(|_| {
        Fault::own(
            Own::BadRequest,
            format!("{text:?} is not the number of a {what}"),
            format!("give the {what}'s number"),
        )
    })
}

/// Names in a list.
pub(crate) fn names(texts: &[String]) -> Result<Vec<Name>, Refusal> {
    texts.iter().map(|text| Name::new(text)).collect()
}

/// A task by number or address.
pub(crate) enum TaskRef {
    /// Its number.
    Number(i64),
    /// Its address.
    Address(TaskAddress),
}

/// Reads a task's number or address.
pub(crate) fn task_ref(text: &str) -> Result<TaskRef, Refusal> {
    match text.parse() {
        Ok(number) => Ok(TaskRef::Number(number)),
        Err(_) => TaskAddress::parse(text).map(TaskRef::Address),
    }
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => (status, [(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => Fault::own(Own::Internal, error.to_string(), "report it").into_response(),
    }
}

async fn read(request: Request) -> Result<(String, Vec<u8>), Fault> {
    let max = request.extensions().get::<&'static Rule>().map_or(0, |r| r.body.bytes_max());
    let too_large = || {
        Fault::own(
            Own::BodyTooLarge,
            format!("the body has more than {max} bytes"),
            "send less at once",
        )
    };
    if content_length(request.headers()).is_some_and(|length| length > max) {
        return Err(too_large());
    }
    let kind = content_type(request.headers());
    let body = Limited::new(request.into_body(), max);
    let slow = |_| {
        let why = format!("the body did not arrive within {} s", BODY_WAIT_MAX.as_secs());
        Fault::own(Own::BodyTooSlow, why, "send it in one go")
    };
    let read = tokio::time::timeout(BODY_WAIT_MAX, body.collect()).await.map_err(slow)?;
    match read {
        Ok(collected) => Ok((kind, collected.to_bytes().to_vec())),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Fault::own(Own::BadRequest, "the body broke off", "send it again")),
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The content type without its parameters, empty when there is none.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// A body of the wrong kind.
pub(crate) fn wrong_kind(kind: &str, wanted: &str) -> Fault {
    let kind = if kind.is_empty() { "nothing" } else { kind };
    Fault::own(
        Own::WrongContentType,
        format!("the content type is {kind}, not {wanted}"),
        format!("send the header content-type: {wanted}"),
    )
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    if is_too_deep(bytes) {
        return Err(Fault::own(
            Own::TooDeep,
            format!("the JSON is nested more than {DEPTH_MAX} deep"),
            "flatten it",
        ));
    }
    serde_json::from_slice(bytes).map_err(|e| {
        let why = format!("cannot read the body: {e}");
        Fault::own(Own::BadRequest, why, "see the documentation of this call for its fields")
    })
}

/// Nested values are passed on unparsed, so that their depth is measured here.
fn is_too_deep(bytes: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_texts() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(!is_too_deep(deep(DEPTH_MAX).as_bytes()));
        assert!(is_too_deep(deep(DEPTH_MAX + 1).as_bytes()));
        assert!(!is_too_deep(format!(r#"["\"{}"]"#, deep(100)).as_bytes()));
    }
}
