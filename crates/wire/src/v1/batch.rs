//! Batches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/batches`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The caller's id of this batch: the same id never opens a second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The collection.
    pub collection: String,
    /// Its key; a number when absent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// A batch that was opened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Opened {
    /// Its number.
    pub batch: i64,
}

/// A batch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// Its number.
    pub batch: i64,
    /// The item that carries its events.
    pub item: String,
    /// Where it stands.
    pub state: String,
    /// Members so far.
    pub total: i64,
    /// Members whose round is open.
    pub open: i64,
    /// Members done.
    pub done: i64,
    /// Members failed.
    pub failed: i64,
    /// Members cancelled.
    pub cancelled: i64,
    /// How many reports were begun.
    pub generation: u32,
}
