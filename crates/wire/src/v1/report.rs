//! `POST /api/v1/reports`: what came of tasks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Problem, Raw};

/// What came of one task. Either `outcome` or `exit_code` says how it ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The lease it was granted in.
    pub lease: String,
    /// The task.
    pub task: i64,
    /// The token it was granted with.
    pub token: String,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The exit code; the step says what it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Result or reason, any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Raw>,
    /// The bill of materials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// Gives back everything left in the lease.
    #[serde(rename = "final", default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It worked.
    Success,
    /// Another attempt would not help.
    Permanent,
    /// Another attempt may help.
    Transient,
    /// Too early: ask again later, no attempt is spent.
    NotYet,
    /// Stopped because the server asked for it, or given back unasked.
    Stopped,
}

/// A bill of materials.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What it says about its objects.
    pub state: ManifestState,
    /// The objects, any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Raw>,
}

/// What a manifest says about its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestState {
    /// Everything was written.
    Complete,
    /// Something was written, not everything.
    Partial,
    /// Intentionally nothing.
    Empty,
    /// What was written is gone again.
    Removed,
}

/// What a report did, or why it was refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// `applied`, `recorded-stale`, `accepted-late` or `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
