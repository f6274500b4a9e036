//! `GET /api/v1/why`: what something waits for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that is waited for, and what it waits for in turn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// What it is and how it stands.
    pub what: String,
    /// Since when.
    pub since: String,
    /// What would clear it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clear: String,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Self>,
}

impl From<armarius_core::why::Node> for Node {
    fn from(node: armarius_core::why::Node) -> Self {
        Self {
            what: node.what,
            since: super::time::text(node.since),
            clear: node.clear,
            because: node.because.into_iter().map(Self::from).collect(),
        }
    }
}
