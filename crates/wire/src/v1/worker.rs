//! `GET /api/v1/workers`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::claim::Way;

/// A worker that asked for work lately, or holds some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Worker {
    /// Its name.
    pub worker: String,
    /// Whose key it uses.
    pub actor: String,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// How it can run steps; empty for any way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Way>,
    /// Tasks it runs at once, if it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// Claims of it that wait for work now.
    pub waiting: u32,
    /// The tasks it holds.
    pub tasks: Vec<i64>,
    /// Seconds since it last asked for work; none when it only holds some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_s: Option<u64>,
}
