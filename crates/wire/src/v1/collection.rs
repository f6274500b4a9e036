//! Collections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `PUT /api/v1/collections/{collection}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Who is told about settled batches.
    #[serde(default)]
    pub notify: Vec<String>,
}

/// A collection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Collection {
    /// Its name.
    pub name: String,
    /// Who is told about settled batches.
    pub notify: Vec<String>,
    /// How many flows it has.
    pub flows: usize,
    /// Its tasks by state.
    pub tasks: super::status::Counts,
}
