//! `GET /api/v1/outbox`: destinations that letters wait for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A destination with letters that have not arrived.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Destination {
    /// Where its letters go.
    pub to: String,
    /// Number of the letter that is next: those of a destination arrive in order.
    pub next: i64,
    /// How many wait, that one included.
    pub waiting: i64,
    /// How often that letter was tried in vain.
    pub tries: u32,
    /// When it is tried next.
    pub due_at: String,
    /// When it was written.
    pub since: String,
}
