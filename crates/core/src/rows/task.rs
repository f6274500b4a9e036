//! Tasks: what never changes, what changes, where they wait and for whom.

use crate::flow::When;
use crate::ids::{
    BatchId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId, Time, Token, VersionId,
};
use crate::task::{Cause, State};
use crate::text::Text;

/// What never changes about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Its number.
    pub id: TaskId,
    /// The item.
    pub item: ItemId,
    /// The queue: collection, flow and step.
    pub queue: QueueId,
    /// The flow.
    pub flow: FlowId,
    /// The version of the flow whose policies it follows.
    pub version: VersionId,
    /// The part, empty when there is none.
    pub part: Text,
    /// The round.
    pub round: u32,
    /// The only task of its round, which then has no row of its own.
    pub solo: bool,
    /// The batch it was submitted in.
    pub batch: Option<BatchId>,
    /// Parameters: a JSON object, or empty.
    pub payload: Text,
    /// When it came to be.
    pub created_at: Time,
    /// What the trigger saw when the round opened; empty when none did.
    pub fingerprint: Text,
    /// How many triggered rounds stand behind this one.
    pub depth: u32,
}

/// A task's natural key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskKey {
    /// The item.
    pub item: ItemId,
    /// The queue.
    pub queue: QueueId,
    /// The part.
    pub part: Text,
    /// The round.
    pub round: u32,
}

/// What changes about a task. Small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Where it stands.
    pub state: State,
    /// Token of the last grant, or above it when a cancel raised it.
    pub token: Token,
    /// Grants so far.
    pub attempts: u32,
    /// Transient failures so far.
    pub failures: u32,
    /// Grants that lapsed in a row.
    pub lapses: u32,
    /// Priority: higher first.
    pub priority: i32,
    /// Tie-break after priority: smaller first.
    pub ord: i64,
    /// Not before this moment.
    pub ready_at: Time,
    /// Where it waits for its turn, when ready.
    pub spot: Spot,
    /// How many of its limits have admitted it.
    pub admitted: u8,
    /// Unsatisfied dependencies.
    pub blockers: u32,
    /// The lease that holds it.
    pub lease: Option<LeaseId>,
    /// The hold it met.
    pub hold: Option<HoldId>,
    /// Why it is where it is.
    pub cause: Cause,
    /// Since when.
    pub since: Time,
}

/// Where a ready task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spot {
    /// Not waiting for a turn.
    Nowhere,
    /// In its queue: the next claim may take it.
    Queue,
    /// In the line of a limit that is used up.
    Line,
    /// On the clock, until `ready_at`.
    Timer,
}

/// A place in a queue or line: priority first, then the flow's order, then the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// The priority, negated, so that higher comes first.
    pub behind: i32,
    /// Tie-break.
    pub ord: i64,
    /// The task.
    pub task: TaskId,
}

impl Rank {
    /// Where a task stands.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        Self { behind: task.priority.saturating_neg(), ord: task.ord, task: task.id }
    }
}

/// What a dependency points at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// A task.
    Task(TaskId),
    /// A task that does not exist yet, by address.
    Absent(Text),
}

/// A dependency that is not satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// What satisfies it.
    pub when: When,
    /// Both ends are of one round or revision: when the target is superseded, so is the dependent.
    pub inner: bool,
}

/// A limit's slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// How many there are.
    pub max: u32,
    /// How many are taken: by tasks in their queue or beyond, and by leases that are stopping.
    pub used: u32,
}
