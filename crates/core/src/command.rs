//! The one way in: every change of the world is one of these commands.

mod archive;

pub use archive::{
    About, AcceptHistory, CausedBy, Complaint, Definitions, PlanRevision, PutArchive, Sight,
    StartFlow,
};

use crate::address::{ItemAddress, TaskAddress};
use crate::event::{Hash, Outcome, Said};
use crate::flow::{Class, Flow, Way};
use crate::ids::{BatchId, ErrandId, HoldId, LeaseId, ScheduleId, TaskId, Time, Token};
use crate::rows::{ManifestState, Role};
use crate::text::{Name, Text};

/// A command with what comes from outside the rules: time, caller, random bits, idempotency key.
#[derive(Clone, Debug)]
pub struct Call {
    /// The store's time.
    pub now: Time,
    /// Who asks, as authenticated.
    pub actor: Name,
    /// Random bits, for names that must not be guessed.
    pub chance: u128,
    /// The caller's key: the same key never makes a second thing.
    pub idem: Option<Text>,
    /// What is asked.
    pub command: Command,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Makes a collection, or changes its destinations.
    PutCollection {
        /// Its name.
        name: Name,
        /// Who is told about settled batches.
        notify: Vec<Text>,
    },
    /// Registers a flow, or a new version of it.
    ApplyFlow {
        /// Where.
        collection: Name,
        /// The definition.
        flow: Box<Flow>,
    },
    /// Ends a flow: no new rounds.
    RemoveFlow {
        /// Where.
        collection: Name,
        /// Which.
        flow: Name,
    },
    /// Makes an item, or changes what is said about it.
    PutItem(PutItem),
    /// The item's content changed.
    TouchItem {
        /// Which.
        item: ItemAddress,
        /// What changed.
        detail: Option<Text>,
    },
    /// Deletes an item: its work is cancelled, its history stays.
    DeleteItem {
        /// Which.
        item: ItemAddress,
    },
    /// Appends an event to an item.
    AddEvent {
        /// The item.
        item: ItemAddress,
        /// What happened.
        name: Name,
        /// What came of it.
        outcome: Outcome,
        /// More.
        detail: Option<Text>,
    },
    /// Appends an event to an item, with what its teller says about it.
    AddSaid(AddSaid),
    /// Makes an item's marks from one on invisible to triggers; nothing is erased.
    Rewind {
        /// The item.
        item: ItemAddress,
        /// From where on.
        from: RewindFrom,
        /// Why.
        reason: Text,
    },
    /// Opens a round of a flow on an item.
    Submit(Submit),
    /// Asks for work.
    Claim(Claim),
    /// Renews a lease.
    Heartbeat {
        /// Which.
        lease: LeaseId,
        /// Tasks that made progress since.
        progress: Vec<TaskId>,
    },
    /// Reports what came of one task.
    Report(Report),
    /// Gives back everything left in a lease.
    GiveBack {
        /// Which.
        lease: LeaseId,
    },
    /// Another attempt of a failed or cancelled task.
    Retry {
        /// Which.
        task: TaskId,
    },
    /// Counts a task as unnecessary; its dependents go on.
    Skip {
        /// Which.
        task: TaskId,
        /// Why.
        reason: Text,
    },
    /// Ends a task; its dependents stay blocked.
    Cancel {
        /// Which.
        task: TaskId,
        /// Why.
        reason: Text,
    },
    /// Changes the priority of a task that is not settled.
    Prioritise {
        /// Which.
        task: TaskId,
        /// Higher first.
        priority: i32,
    },
    /// Changes the priority of an item and of its queued tasks.
    PrioritiseItem {
        /// Which.
        item: ItemAddress,
        /// Higher first.
        priority: i32,
    },
    /// Sets a brake.
    Hold {
        /// On what.
        on: HoldOn,
        /// Why.
        reason: Text,
        /// Until when, if it ends by itself.
        until: Option<Time>,
    },
    /// Releases a brake.
    Release {
        /// Which.
        hold: HoldId,
    },
    /// Opens a batch.
    OpenBatch {
        /// Where.
        collection: Name,
        /// Its key; a number is made up when empty.
        key: Text,
    },
    /// The batch is complete in number.
    SealBatch {
        /// Which.
        batch: BatchId,
    },
    /// Cancels what is open in a batch.
    CancelBatch {
        /// Which.
        batch: BatchId,
    },
    /// Another attempt for every failed member.
    RetryBatch {
        /// Which.
        batch: BatchId,
    },
    /// Composes another report of a failed batch.
    ReportBatch {
        /// Which.
        batch: BatchId,
    },
    /// Deletes a batch: what is open is cancelled, history stays.
    DeleteBatch {
        /// Which.
        batch: BatchId,
    },
    /// Watches an archive, or changes what is said about it.
    PutArchive(PutArchive),
    /// Watches an archive no more; its history stays.
    RemoveArchive {
        /// Which.
        archive: Name,
    },
    /// Looks again at an archive that was stopped.
    ResumeArchive {
        /// Which.
        archive: Name,
    },
    /// Goes on with an archive that was stopped, with the history its repository has now.
    AcceptHistory(AcceptHistory),
    /// A duty: somebody looked at an archive's repository.
    LookedAt {
        /// Which.
        archive: Name,
        /// What it showed.
        sight: Sight,
    },
    /// Somebody says that an archive has a revision.
    NoticeRevision {
        /// The archive.
        archive: Name,
        /// The revision.
        revision: i64,
    },
    /// Plans the next revision of an archive.
    PlanRevision(Box<PlanRevision>),
    /// Passes over the revision that is awaited: nothing of it runs.
    SkipRevision {
        /// The archive.
        archive: Name,
        /// The revision.
        revision: i64,
        /// Why.
        reason: Text,
    },
    /// Starts a flow of an archive at a revision.
    StartFlow(Box<StartFlow>),
    /// Makes a key.
    MakeKey(MakeKey),
    /// Changes what a key is for.
    ChangeKey(ChangeKey),
    /// Ends a key.
    RevokeKey {
        /// Its public part.
        id: Name,
    },
    /// Makes a link that opens one session for the holder of a key.
    OfferSession {
        /// The key's public part.
        key: Name,
        /// SHA-256 of the link's code.
        code: Hash,
    },
    /// Opens a session: somebody signs in.
    OpenSession {
        /// What was shown.
        by: Opener,
        /// SHA-256 of what the browser carries.
        secret: Hash,
    },
    /// A session is in use.
    NoteSession {
        /// SHA-256 of what the browser carries.
        secret: Hash,
    },
    /// Ends a session: somebody signs out.
    EndSession {
        /// SHA-256 of what the browser carries.
        secret: Hash,
    },
    /// Writes a letter.
    Post {
        /// To whom.
        to: Text,
        /// What.
        body: Text,
    },
    /// A letter was delivered, or was not.
    Delivered {
        /// To whom.
        to: Text,
        /// Which.
        n: i64,
        /// Whether it arrived.
        ok: bool,
        /// When to try again, if not.
        retry_at: Time,
    },
    /// A duty: deals with the slots of a schedule that have come.
    Fire {
        /// Which.
        schedule: ScheduleId,
        /// The slots since the last one, oldest first, none after now.
        slots: Vec<Time>,
    },
    /// A duty: ends leases whose time is over.
    Expire,
    /// A duty: puts ready tasks whose time has come into their queues.
    Wake,
    /// A duty: ends holds whose time is over.
    ExpireHolds,
    /// A duty: gives every live lease a fresh term, after a restart.
    Refresh,
    /// A duty: does the next piece of the oldest errand.
    RunErrand {
        /// Which.
        errand: ErrandId,
    },
    /// Raises the epoch of tokens: the past may differ from what workers remember.
    RaiseEpoch,
    /// Ends live leases, piece by piece, as if each was given back: after a restore nobody may go
    /// on with what was lent before it.
    Recall,
}

/// An item and what is said about it. `None` leaves what was said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutItem {
    /// Where.
    pub item: ItemAddress,
    /// Priority: higher first.
    pub priority: Option<i32>,
    /// Position in a sequence.
    pub ordinal: Option<i64>,
    /// Content models.
    pub types: Option<Vec<Name>>,
    /// A JSON object.
    pub attributes: Option<Text>,
}

/// A key to be made. Its secret stays with whoever makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MakeKey {
    /// The public part.
    pub id: Name,
    /// Who it is for.
    pub name: Name,
    /// What its holder may do.
    pub role: Role,
    /// Only these collections; all when empty.
    pub collections: Vec<Name>,
    /// SHA-256 of the secret.
    pub digest: Hash,
}

/// What a key is for from now on. `None` leaves what was said before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeKey {
    /// The public part.
    pub id: Name,
    /// What its holder may do.
    pub role: Option<Role>,
    /// Only these collections; all when empty.
    pub collections: Option<Vec<Name>>,
}

/// What opens a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opener {
    /// A key, by its public part: whoever asks has seen its secret.
    Key(Name),
    /// SHA-256 of a link's code, which is used up.
    Code(Hash),
}

/// An event and what is said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddSaid {
    /// The item.
    pub item: ItemAddress,
    /// What happened.
    pub name: Name,
    /// What came of it.
    pub outcome: Outcome,
    /// More.
    pub detail: Option<Text>,
    /// When, by whom, under which id. An imported event is known by its item and this id.
    pub said: Said,
}

/// From which mark on an item is rewound, that one included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewindFrom {
    /// The newest event of this name.
    Event(Name),
    /// The event of this number.
    Number(i64),
    /// The first mark that is a failure.
    FirstFailure,
}

/// A round to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    /// On which item; made when it does not exist.
    pub item: ItemAddress,
    /// Of which flow.
    pub flow: Name,
    /// Parameters: a JSON object, or empty.
    pub payload: Text,
    /// Priority, the item's when `None`.
    pub priority: Option<i32>,
    /// Not before this moment.
    pub not_before: Option<Time>,
    /// Parts; empty for none.
    pub parts: Vec<Text>,
    /// Tasks that must be done before, also such as do not exist yet.
    pub depends: Vec<TaskAddress>,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
}

/// A request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The worker's name.
    pub worker: Name,
    /// What it can do.
    pub labels: Vec<Name>,
    /// Only these steps, as (flow, step); all when empty.
    pub steps: Vec<(Name, Name)>,
    /// Only these collections; all when empty.
    pub collections: Vec<Name>,
    /// Only steps that are run in one of these ways; all when empty.
    pub ways: Vec<Way>,
    /// At most so many tasks.
    pub max: u32,
}

/// What came of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The lease it was granted in.
    pub lease: LeaseId,
    /// Which task.
    pub task: TaskId,
    /// The token it was granted with.
    pub token: Token,
    /// How it ended.
    pub outcome: Ending,
    /// Result or reason, as text (JSON where a machine wrote it).
    pub detail: Option<Text>,
    /// The bill of materials.
    pub manifest: Option<(ManifestState, Text)>,
    /// Gives back everything left in the lease.
    pub last: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By class.
    Class(Class),
    /// By exit code; the step says what it means.
    Exit(i32),
    /// The worker stopped it because it was asked to.
    Stopped,
}

/// What is to be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldOn {
    /// A collection.
    Collection(Name),
    /// A flow of a collection.
    Flow(Name, Name),
    /// A step of a flow of a collection.
    Step(Name, Name, Name),
    /// A batch.
    Batch(BatchId),
    /// An item.
    Item(ItemAddress),
    /// A task.
    Task(TaskId),
}
