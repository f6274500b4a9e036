//! Batches and their members.

use super::round::RoundKey;
use crate::ids::{BatchId, CollectionId, ItemId, TaskId};

/// Items submitted together and reported together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its number.
    pub id: BatchId,
    /// The collection.
    pub collection: CollectionId,
    /// The item that carries the batch's own events.
    pub item: ItemId,
    /// Where it stands.
    pub state: BatchState,
    /// Members so far.
    pub total: i64,
    /// Members whose round is open.
    pub open: i64,
    /// Members done.
    pub done: i64,
    /// Members failed.
    pub failed: i64,
    /// Members cancelled.
    pub cancelled: i64,
    /// How many reports were begun.
    pub generation: u32,
}

/// Where a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BatchState {
    /// Takes members.
    Open,
    /// Complete in number; its members are being worked on.
    Processing,
    /// All members settled; the report is being composed.
    Reporting,
    /// Reported, nothing failed.
    Completed,
    /// Reported, something failed.
    Failed,
    /// Deleted; history stays.
    Deleted,
}

impl BatchState {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Processing,
        Self::Reporting,
        Self::Completed,
        Self::Failed,
        Self::Deleted,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Processing => "processing",
            Self::Reporting => "reporting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Deleted => "deleted",
        }
    }
}

/// One member of a batch: a round of a flow on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The round.
    pub round: RoundKey,
    /// Its task, if the round has only one.
    pub solo: Option<TaskId>,
}
