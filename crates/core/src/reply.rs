//! What a command answers. It leaves only after the change is durable.

use crate::ids::{
    BatchId, CollectionId, FlowId, HoldId, ItemId, LeaseId, Span, TaskId, Token, VersionId,
};
use crate::rows::{Archive, Body, Item, Version};
use crate::text::Name;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done; nothing more to say.
    Ok,
    /// A collection exists.
    Collection(CollectionId),
    /// A flow has this version; `fresh` when it was not known before.
    Flow {
        /// The flow.
        flow: FlowId,
        /// The version.
        version: VersionId,
        /// Not known before.
        fresh: bool,
        /// What is probably not meant.
        warnings: Vec<String>,
    },
    /// An item exists.
    Item {
        /// Its number.
        item: ItemId,
        /// Not known before.
        fresh: bool,
    },
    /// An event was appended, or had been.
    Event {
        /// The item.
        item: ItemId,
        /// Its number.
        n: i64,
        /// The same event id had come before.
        repeated: bool,
    },
    /// An item was rewound.
    Rewound {
        /// Number of the event that says so.
        n: i64,
        /// The marks that are invisible now.
        marks: Vec<Name>,
    },
    /// A round was opened, or had been.
    Round {
        /// The item.
        item: ItemId,
        /// The flow.
        flow: FlowId,
        /// The round.
        round: u32,
        /// Its first task.
        task: TaskId,
        /// The same idempotency key had come before.
        repeated: bool,
    },
    /// Work, or nothing at present.
    Claimed(Option<Granted>),
    /// The lease goes on.
    Renewed {
        /// How long.
        ttl: Span,
        /// Tasks to stop, with the token each was granted with.
        stop: Vec<(TaskId, Token)>,
    },
    /// What the report did.
    Reported(Reported),
    /// A batch.
    Batch(BatchId),
    /// A hold.
    Hold(HoldId),
    /// A duty's piece of work: how much it did, and whether more is waiting.
    Duty {
        /// Things dealt with.
        did: usize,
        /// Something is left.
        more: bool,
    },
    /// A letter's place in its line.
    Letter {
        /// The letter's number.
        n: i64,
    },
}

/// What a report did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// It changed the task.
    Applied,
    /// It was kept as an event and changed nothing else: the lease was over or the token old.
    RecordedStale,
    /// It came late, and completed the task under `late: accept`.
    AcceptedLate,
    /// The stop was confirmed.
    Stopped,
}

/// A lease, as its worker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its name.
    pub lease: LeaseId,
    /// Renew within this time, counted from the request.
    pub ttl: Span,
    /// The tasks.
    pub tasks: Vec<GrantedTask>,
}

/// One granted task with everything its worker needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedTask {
    /// Its number.
    pub task: TaskId,
    /// Its token.
    pub token: Token,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The collection's name.
    pub collection: Name,
    /// The step's name.
    pub step: Name,
    /// The item.
    pub item: Item,
    /// The body: part, round, payload.
    pub body: Body,
    /// The version whose step it is.
    pub version: Version,
    /// The archive, if the collection is one.
    pub archive: Option<Archive>,
}
