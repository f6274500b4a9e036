//! What idempotency keys made.

use super::round::RoundKey;
use crate::event::Hash;
use crate::ids::{BatchId, HoldId, ItemId, TaskId};

/// The memory of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idem {
    /// Digest of the request.
    pub digest: Hash,
    /// What it made.
    pub made: Made,
}

/// What a request made, enough to give the same answer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// A round: item, flow, round; and its first task.
    Round(RoundKey, TaskId),
    /// An event: item and number.
    Event(ItemId, i64),
    /// A batch.
    Batch(BatchId),
    /// An item.
    Item(ItemId),
    /// A hold.
    Hold(HoldId),
}
