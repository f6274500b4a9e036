//! Flows. A flow is put as the text of its flow file, YAML or JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Raw, status::Counts};

/// What putting a flow did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// The collection.
    pub collection: String,
    /// The flow.
    pub flow: String,
    /// The version, by digest.
    pub version: String,
    /// The version was not known before.
    pub fresh: bool,
    /// What is probably not meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A flow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// The collection.
    pub collection: String,
    /// Its name.
    pub name: String,
    /// The version new rounds use, by digest.
    pub version: String,
    /// When that version was first seen.
    pub since: String,
    /// No new rounds; what is open goes on.
    pub removed: bool,
    /// The canonical definition.
    pub definition: Option<Raw>,
    /// Its steps, with their tasks by state.
    pub steps: Vec<Step>,
}

/// One step of a flow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its name.
    pub step: String,
    /// Labels a worker must have.
    pub labels: Vec<String>,
    /// Tasks by state.
    pub tasks: Counts,
}
