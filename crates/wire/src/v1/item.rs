//! Items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Raw;

/// `PUT /api/v1/items/{collection}/{kind}/{key}`. What is absent stays as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Priority: higher first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Position in a sequence; never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i64>,
    /// Content models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// Free attributes, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Raw>,
}

/// One element of `POST /api/v1/items`. What is absent stays as it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutOne {
    /// `collection/kind/key`.
    pub item: String,
    /// Priority: higher first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Position in a sequence; never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i64>,
    /// Content models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// Free attributes, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Raw>,
}

/// What one element did, or why it was refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Placed {
    /// It was not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<super::Problem>,
}

/// What putting an item did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PutReply {
    /// Its address.
    pub item: String,
    /// It was not known before.
    pub fresh: bool,
}

/// `POST /api/v1/items/touch`: the content changed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    /// The item.
    pub item: String,
    /// What changed, any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
}

/// `POST /api/v1/items/priority`: moves the item's queued tasks too.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Priority {
    /// The item.
    pub item: String,
    /// Higher first.
    pub priority: i32,
}

/// `POST /api/v1/items/rewind`: marks from one event on become invisible to triggers. Without a
/// place, from the first failure.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// The item.
    pub item: String,
    /// The name of an event: from the newest one on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The number of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_number: Option<i64>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a rewind did.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rewound {
    /// Number of the event that says so.
    pub n: i64,
    /// The events that triggers no longer see.
    pub hidden: Vec<String>,
}

/// `POST /api/v1/items/find`: items that satisfy a query, in order of their numbers. A page may be
/// short, or empty, and still have a next one: each looks at a bounded number of items.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Where.
    pub collection: String,
    /// What is asked of them.
    #[serde(default)]
    pub query: super::robot::Query,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<usize>,
}

/// The newest event of one name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The name.
    pub name: String,
    /// Number of the event.
    pub n: i64,
    /// `success` or `failure`.
    pub outcome: String,
    /// When it was added.
    pub at: String,
    /// Whether it is based on the item's present content.
    pub current: bool,
    /// Rewound, or being tried again: triggers do not see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Out of a history kept elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// An item.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// `collection/kind/key`.
    pub item: String,
    /// The collection.
    pub collection: String,
    /// The kind.
    pub kind: String,
    /// The key within the kind.
    pub key: String,
    /// Priority: higher first.
    pub priority: i32,
    /// When it was first seen; never changes.
    pub first_seen_at: String,
    /// Position in a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i64>,
    /// Content models.
    pub types: Vec<String>,
    /// Free attributes, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Raw>,
    /// Number of the event that last changed its content.
    pub changed_seq: i64,
    /// A deleted item keeps its history and takes no work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleted: bool,
    /// Number of its newest event; only when one item is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<i64>,
    /// The newest event of each name, in order; only when one item is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// Its newest tasks; only when one item is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<super::task::Task>,
}
