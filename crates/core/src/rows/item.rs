//! Items and their marks.

use crate::event::Outcome;
use crate::ids::{CollectionId, ItemId, Time};
use crate::text::{Name, Text};

/// A thing work is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number.
    pub id: ItemId,
    /// The collection.
    pub collection: CollectionId,
    /// The kind.
    pub kind: Name,
    /// The key within the kind.
    pub key: Text,
    /// Priority: higher first.
    pub priority: i32,
    /// When it was first seen; never changes.
    pub first_seen_at: Time,
    /// Position in a sequence (revision number, lot number).
    pub ordinal: Option<i64>,
    /// Content models.
    pub types: Vec<Name>,
    /// Free attributes, a JSON object, or empty.
    pub attributes: Text,
    /// Number of the event that last changed its content.
    pub changed_seq: i64,
    /// A deleted item keeps its history and takes no work.
    pub deleted: bool,
}

/// An item's natural key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    /// The collection.
    pub collection: CollectionId,
    /// The kind.
    pub kind: Name,
    /// The key.
    pub key: Text,
}

/// The newest event of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the event.
    pub n: i64,
    /// What came of it.
    pub outcome: Outcome,
    /// The `changed_seq` it was based on.
    pub based_on: i64,
    /// When.
    pub at: Time,
    /// Rewound, or being tried again: kept, but invisible to triggers.
    pub hidden: bool,
    /// It came with an imported history: it orders below everything that happened here.
    pub imported: bool,
}
