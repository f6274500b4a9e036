//! The API's own description.

use axum::http::StatusCode;

use crate::body::json;
use crate::problem::Answer;

/// `GET /api/v1/openapi.json`
pub(crate) async fn document() -> Answer {
    Ok(json(StatusCode::OK, &serde_json::json!({})))
}
