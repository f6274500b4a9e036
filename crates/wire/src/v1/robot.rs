//! Robots: flows that items wake, as stations of an assembly line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::status::Counts;

/// What a robot, or somebody who looks for items, asks of an item. An empty list is no condition;
/// all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Query {
    /// Any of these kinds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// All of these types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// The newest event of each of these names is a success.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<String>,
    /// The newest event of each of these names is a failure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// No event of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// No event of these names, or one that is older than the item's content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// Only these keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
}

/// The assembly line of a collection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// The robots, by collection and name.
    pub robots: Vec<Robot>,
    /// Which robot's event another one looks at.
    pub edges: Vec<Edge>,
}

/// One station.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Robot {
    /// The collection.
    pub collection: String,
    /// Its name.
    pub name: String,
    /// The version new rounds use, by digest.
    pub version: String,
    /// What wakes it.
    pub query: Query,
    /// The event it records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// Its work changes the item's content.
    pub touches: bool,
    /// Only one instance works at a time.
    pub singleton: bool,
    /// Items one claim takes at most.
    pub max_items: u32,
    /// Items in work at once at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Its tasks by state, of all steps.
    pub tasks: Counts,
    /// Tasks done in the last minute, as the server that is asked saw it.
    #[serde(default)]
    pub done_minute: i64,
    /// Tasks done in the last hour, or since that server started.
    #[serde(default)]
    pub done_hour: i64,
    /// Since when the first item in line has been waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<String>,
    /// The worker that holds a singleton.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The hold that pauses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// It is being asked about the items that were there before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filling: Option<Filling>,
    /// What is probably not meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why a robot does not work.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Paused {
    /// The number of the hold.
    pub hold: i64,
    /// Why.
    pub reason: String,
    /// Who set it.
    pub owner: String,
    /// Since when.
    pub since: String,
}

/// How far a robot that was registered, changed or removed has been asked about all items.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Filling {
    /// About how much of it, by the numbers of the items.
    pub percent: u8,
    /// Since when.
    pub since: String,
}

/// A robot looks at an event that another one records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// The collection.
    pub collection: String,
    /// Who records the event; absent when nobody here does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The event.
    pub event: String,
    /// Who looks at it.
    pub to: String,
    /// `success`, `failed`, `absent` or `stale`.
    pub how: String,
}
