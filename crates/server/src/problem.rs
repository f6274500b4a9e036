//! How "no" is said: one table from codes to HTTP statuses.

use armarius_core::refusal::{Code, Refusal};
use armarius_engine::EngineError;
use armarius_wire::v1::Problem;
use armarius_wire::v1::problem::CONTENT_TYPE;
use axum::http::header::{CONTENT_TYPE as CONTENT_TYPE_HEADER, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// A problem on its way to the caller.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) Box<Problem>);

/// What comes of a request.
pub(crate) type Answer = Result<Response, Fault>;

/// The status that fits a refusal.
pub(crate) fn status_of(code: Code) -> StatusCode {
    match code {
        Code::BadName | Code::BadAddress | Code::OutOfRange | Code::BadJson => {
            StatusCode::BAD_REQUEST
        }
        Code::NoSuchCollection
        | Code::NoSuchArchive
        | Code::NoSuchItem
        | Code::NoSuchFlow
        | Code::NoSuchTask
        | Code::NoSuchLease
        | Code::NoSuchBatch
        | Code::NoSuchHold
        | Code::NoSuchSchedule
        | Code::NoSuchEntry
        | Code::NoSuchKey => StatusCode::NOT_FOUND,
        Code::AlreadyExists
        | Code::WrongState
        | Code::KeyReused
        | Code::Cycle
        | Code::AcrossCollections
        | Code::BatchSealed
        | Code::RobotBusy
        | Code::LimitReached => StatusCode::CONFLICT,
        Code::LeaseOver => StatusCode::GONE,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::BadFlow => StatusCode::UNPROCESSABLE_ENTITY,
        Code::Busy => StatusCode::TOO_MANY_REQUESTS,
        Code::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
    }
}

/// What the server itself refuses, before the engine is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    KeyMissing,
    KeyRefused,
    NotAllowed,
    NoSuchRoute,
    WrongMethod,
    WrongContentType,
    BadRequest,
    TooMany,
    BodyTooLarge,
    BodyTooSlow,
    TooDeep,
    Unavailable,
    OutcomeUnknown,
    StoreFull,
    Internal,
}

impl Own {
    fn as_str(self) -> &'static str {
        match self {
            Self::KeyMissing => "key-missing",
            Self::KeyRefused => "key-refused",
            Self::NotAllowed => "not-allowed",
            Self::NoSuchRoute => "no-such-route",
            Self::WrongMethod => "wrong-method",
            Self::WrongContentType => "wrong-content-type",
            Self::BadRequest => "bad-request",
            Self::TooMany => "too-many-requests",
            Self::BodyTooLarge => "body-too-large",
            Self::BodyTooSlow => "body-too-slow",
            Self::TooDeep => "too-deep",
            Self::Unavailable => "unavailable",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::StoreFull => "store-full",
            Self::Internal => "internal",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::KeyMissing | Self::KeyRefused => StatusCode::UNAUTHORIZED,
            Self::NotAllowed => StatusCode::FORBIDDEN,
            Self::NoSuchRoute => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::WrongContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BadRequest | Self::TooDeep => StatusCode::BAD_REQUEST,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Unavailable | Self::OutcomeUnknown => StatusCode::SERVICE_UNAVAILABLE,
            Self::StoreFull => StatusCode::INSUFFICIENT_STORAGE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Fault {
    /// Something the server itself refuses.
    pub(crate) fn own(own: Own, sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::with(own.status(), own.as_str(), sentence.into(), hint.into())
    }

    fn with(status: StatusCode, code: &str, sentence: String, hint: String) -> Self {
        let title = status.canonical_reason().unwrap_or_default();
        let problem = Problem::new(status.as_u16(), title, code, sentence);
        Self(Box::new(Problem { hint, ..problem }))
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, sentence, hint } = refusal;
        Self::with(status_of(code), code.as_str(), sentence, hint)
    }
}

impl From<EngineError> for Fault {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Full(_) => Self::own(
                Own::StoreFull,
                "there is no room left in the store",
                "free space on the store's disk, then send the same request again",
            ),
            EngineError::Unavailable(_) => Self::own(
                Own::Unavailable,
                "the store is unavailable at the moment; nothing was changed",
                "send the same request again, with the same id",
            ),
            EngineError::OutcomeUnknown(_) => Self::own(
                Own::OutcomeUnknown,
                "the store was lost while it made the change; it was done wholly or not at all",
                "send the same request again, with the same id: it is never done twice",
            ),
            EngineError::Stopped => Self::own(
                Own::Unavailable,
                "the server is stopping",
                "send the same request again, with the same id, once it is back",
            ),
            // What broke may name places of the machine; the log has it, the caller does not.
            EngineError::Internal(why) => {
                tracing::error!("internal error: {}", why.escape_debug());
                Self::own(
                    Own::Internal,
                    "the server broke a rule of its own on this request; others go on",
                    "report it, with what the server wrote to its log",
                )
            }
        }
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(CONTENT_TYPE));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::INSUFFICIENT_STORAGE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("30"));
            }
            _ => {}
        }
        response
    }
}
