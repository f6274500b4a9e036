//! Tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Raw;

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its number.
    pub task: i64,
    /// Its address, `flow.step@collection/kind/key#part~round`.
    pub address: String,
    /// Where it stands.
    pub state: String,
    /// Why it is where it is; empty when there is nothing special.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Since when.
    pub since: String,
    /// When it came to be.
    pub created_at: String,
    /// Priority: higher first.
    pub priority: i32,
    /// Grants so far.
    pub attempts: u32,
    /// Token of the last grant.
    pub token: String,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<String>,
    /// Dependencies that are not satisfied.
    pub blockers: u32,
    /// The batch it was submitted in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<i64>,
    /// Parameters as submitted, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Raw>,
    /// The worker that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Its last run, told where one task is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

/// The last time a task was taken up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// By whom.
    pub worker: String,
    /// When.
    pub started_at: String,
    /// When it ended; empty while it has not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended_at: String,
    /// What the program ended with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

/// `POST /api/v1/tasks/{task}/skip` and `…/cancel`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// `POST /api/v1/tasks/{task}/priority`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Priority {
    /// Higher first.
    pub priority: i32,
}
