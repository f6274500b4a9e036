//! `GET /api/v1/feed`: what happens, as server-sent events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Raw;

/// One event of one item. The `id` of the message that carries it is the cursor behind it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The item's address.
    pub item: String,
    /// Number within the item, from 1.
    pub n: i64,
    /// What happened.
    pub name: String,
    /// When.
    pub at: String,
    /// Who did it.
    pub actor: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<i64>,
    /// The state that task went into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// More. A long one is left out; the item's events have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
}
