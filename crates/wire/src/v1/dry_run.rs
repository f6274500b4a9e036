//! `?dry_run=true`: what a change would do, without doing it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query that asks for it.
pub const QUERY: &str = "dry_run=true";

/// What would happen if the same request came without `dry_run` now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// Always true: nothing was changed.
    pub dry_run: bool,
    /// Events that would be appended, in order; cut after a thousand.
    pub changes: Vec<Change>,
    /// Events beyond those that are shown.
    pub more: usize,
    /// Rows that would be written, history not counted.
    pub rows: usize,
    /// Errands that would go on with it afterwards, piece by piece: their effects are not shown.
    pub errands: usize,
    /// Letters that would be written to the outbox.
    pub letters: usize,
}

/// One event that would be appended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The item.
    pub item: String,
    /// The event.
    pub event: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The state that task would go into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}
