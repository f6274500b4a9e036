//! `POST /api/v1/leases/{lease}/heartbeat` and `…/give-back`, `POST /api/v1/leases/stops`,
//! `GET /api/v1/leases`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sign of life.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Tasks that made progress since the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<i64>,
}

/// The lease goes on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Renewed {
    /// How long, counted from the request.
    pub ttl_s: u64,
    /// Tasks to stop; confirm each with a report whose outcome is `stopped`.
    pub stop: Vec<Stop>,
}

/// A task to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// The task.
    pub task: i64,
    /// The token it was granted with.
    pub token: String,
}

/// Asks whether tasks are to be stopped, and waits until one is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Leases of the caller.
    pub leases: Vec<String>,
    /// How long to wait; not at all unless said.
    #[serde(default)]
    pub wait_s: u32,
}

/// What is to be stopped.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stops {
    /// Tasks to stop; confirm each with a report whose outcome is `stopped`.
    pub stop: Vec<Stop>,
}

/// A lease, as others see it: without its name, which is its worker's secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The worker.
    pub worker: String,
    /// Whose key it claimed with.
    pub actor: String,
    /// When it was granted.
    pub granted_at: String,
    /// When it lapses unless renewed.
    pub expires_at: String,
    /// The tasks it holds.
    pub tasks: Vec<i64>,
    /// Those of them that are to be stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopping: Vec<i64>,
}
