//! Holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/holds`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// On what.
    pub on: On,
    /// Why.
    pub reason: String,
    /// Until when, if it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// What is held: a collection, with `flow` a flow of it, with `step` a step of that; or one of
/// `batch`, `item` and `task`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct On {
    /// A collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// A flow of the collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// A step of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// A batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<i64>,
    /// An item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// A task, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<i64>,
}

/// A hold that was set.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IsSet {
    /// Its number.
    pub hold: i64,
}

/// A hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hold {
    /// Its number.
    pub hold: i64,
    /// On what.
    pub on: On,
    /// Why.
    pub reason: String,
    /// Who set it.
    pub owner: String,
    /// Since when.
    pub since: String,
    /// Until when, if it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}
