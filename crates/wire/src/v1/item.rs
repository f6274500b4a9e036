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
    /// Its newest tasks; only when one item is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<super::task::Task>,
}
