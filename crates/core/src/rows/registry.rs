//! What a collection consists of: flows, versions, queues, holds, schedules. Few, always loaded.

use std::sync::Arc;

use crate::flow::{self, Calendar, Way};
use crate::ids::{
    BatchId, CollectionId, FlowId, HoldId, ItemId, LeaseId, QueueId, ScheduleId, TaskId, Time,
    VersionId,
};
use crate::text::{Name, Text};

/// A namespace with policy; the unit of independence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Its number.
    pub id: CollectionId,
    /// Its name.
    pub name: Name,
    /// The item that carries the collection's own events.
    pub item: ItemId,
    /// When a claim last took work here, as a running number: queues of equal head priority take
    /// turns between collections.
    pub served: i64,
    /// Destinations that are told about settled batches.
    pub notify: Vec<Text>,
    /// Flows here that items may wake.
    pub robots: Vec<FlowId>,
}

/// A flow and its current version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRow {
    /// Its number.
    pub id: FlowId,
    /// Where it lives.
    pub collection: CollectionId,
    /// Its name there.
    pub name: Name,
    /// The version new rounds use.
    pub version: VersionId,
    /// No new rounds; what is open goes on.
    pub removed: bool,
    /// The claimant of a singleton flow and until when.
    pub taken: Option<LeaseId>,
}

/// One version of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number.
    pub id: VersionId,
    /// The flow.
    pub flow: FlowId,
    /// SHA-256 of the canonical definition.
    pub digest: flow::Digest,
    /// The definition.
    pub def: Arc<flow::Flow>,
    /// When it was first seen.
    pub at: Time,
}

/// One step of one flow of one collection: what claims draw from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its number.
    pub id: QueueId,
    /// The collection.
    pub collection: CollectionId,
    /// The flow.
    pub flow: FlowId,
    /// The step.
    pub step: Name,
    /// Labels a worker must have, by the newest version.
    pub labels: Vec<Name>,
    /// How it is run, by the newest version.
    pub way: Way,
    /// Tasks in each state, kept with every change, never counted.
    pub counts: [i64; 7],
}

/// A brake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its number.
    pub id: HoldId,
    /// What it brakes.
    pub scope: Scope,
    /// Why.
    pub reason: Text,
    /// Who set it.
    pub owner: Name,
    /// Since when.
    pub since: Time,
    /// Until when, if it ends by itself.
    pub until: Option<Time>,
}

/// What a hold brakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every queue of a collection.
    Collection(CollectionId),
    /// Every queue of a flow.
    Flow(FlowId),
    /// One queue.
    Step(QueueId),
    /// The tasks of a batch, as claims reach them.
    Batch(BatchId),
    /// The tasks of an item, as claims reach them.
    Item(ItemId),
    /// One task.
    Task(TaskId),
}

/// A calendar that opens rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Its number.
    pub id: ScheduleId,
    /// The flow.
    pub flow: FlowId,
    /// The item its rounds are on.
    pub item: ItemId,
    /// When it fires.
    pub calendar: Calendar,
    /// The newest slot that was dealt with.
    pub last_slot: Time,
    /// The round of the newest slot that fired, 0 before the first.
    pub last_round: u32,
    /// Fires no more; what is open goes on.
    pub removed: bool,
}

/// Running numbers of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Collections.
    Collection,
    /// Flows.
    Flow,
    /// Versions of flows.
    Version,
    /// Queues.
    Queue,
    /// Items.
    Item,
    /// Tasks.
    Task,
    /// Batches.
    Batch,
    /// Holds.
    Hold,
    /// Schedules.
    Schedule,
    /// Errands.
    Errand,
    /// Turns taken by claims.
    Turn,
    /// Dependencies on tasks that do not exist yet.
    Absent,
    /// Raised when the store's past may differ from what workers remember (restored backup).
    Epoch,
    /// The highest `now` a commit used; time never goes back behind it.
    Clock,
}

impl Counter {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 14] = [
        Self::Collection,
        Self::Flow,
        Self::Version,
        Self::Queue,
        Self::Item,
        Self::Task,
        Self::Batch,
        Self::Hold,
        Self::Schedule,
        Self::Errand,
        Self::Turn,
        Self::Absent,
        Self::Epoch,
        Self::Clock,
    ];
}
