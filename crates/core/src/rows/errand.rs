//! Errands: what a fact still has to cause for others.

use crate::ids::{BatchId, ErrandId, FlowId, HoldId, ItemId, TaskId, Time};
use crate::text::{Name, Text};

/// Durable follow-up of a fact that was too large for its commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errand {
    /// Its number.
    pub id: ErrandId,
    /// What is to be done.
    pub follow: Follow,
    /// Where it goes on.
    pub cursor: i64,
    /// Who caused it.
    pub actor: Name,
    /// When.
    pub since: Time,
}

/// What a fact causes for others: run in the same commit while its budget lasts, kept as an errand
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follow {
    /// A task settled: satisfy those that depend on it.
    Settled(TaskId),
    /// A task came to be that others already depend on by address.
    Bind(Text, TaskId),
    /// A task became ready (or was superseded before): supersede what it cancels.
    Supersede(TaskId),
    /// An item changed: ask the robots that an event of this name concerns, or all when the name
    /// is empty. The number is how often robots woke each other up to here.
    Wake(ItemId, u32, Text),
    /// An item was rewound: ask the robots, and take back what is leased on a trigger that is gone.
    Rewound(ItemId),
    /// A robot was registered, changed or removed: ask it about every item of its collection. True
    /// when it had nothing open then, so that nothing of it has to be withdrawn.
    Fill(FlowId, bool),
    /// A hold was released: let the tasks that met it go on.
    Release(HoldId),
    /// A batch's members are all settled: compose the report.
    Report(BatchId),
    /// A batch is cancelled: cancel its open members.
    CancelBatch(BatchId),
    /// A batch is deleted: cancel its open members and leave a tombstone.
    DeleteBatch(BatchId),
    /// A batch's failed members get another attempt.
    RetryBatch(BatchId),
    /// An item's open tasks are cancelled, because it was deleted.
    DeleteItem(ItemId),
    /// An item's or batch's priority changed: move its queued tasks.
    Reprioritise(ItemId, i32),
}

impl Follow {
    /// The task it is about, if it is about one.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Settled(task) | Self::Bind(_, task) | Self::Supersede(task) => Some(*task),
            Self::Wake(_, _, _)
            | Self::Rewound(_)
            | Self::Fill(_, _)
            | Self::Release(_)
            | Self::Report(_)
            | Self::CancelBatch(_)
            | Self::DeleteBatch(_)
            | Self::RetryBatch(_)
            | Self::DeleteItem(_)
            | Self::Reprioritise(_, _) => None,
        }
    }
}
