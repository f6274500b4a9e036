//! `POST /api/v1/rounds`: work is submitted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Problem, Raw};

/// A round of a flow to be opened on an item.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The caller's id of this submission: the same id never opens a second round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The item; made when it does not exist.
    pub item: String,
    /// The flow.
    pub flow: String,
    /// Parameters, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Raw>,
    /// Priority, the item's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// Parts; none when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// Addresses of tasks that must be done before, also such as do not exist yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
    /// The batch it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<i64>,
}

/// The round, or why it was refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// The round, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Its first task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<i64>,
    /// The same id had come before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
