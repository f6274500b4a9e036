//! The seam between the engine and what remembers.
//!
//! A store runs one transaction at a time for one lane: [`Store::begin`], any number of
//! [`Store::load`], then [`Store::commit`] or [`Store::abandon`]. It keeps rows and history exactly
//! as the view gives them and decides nothing. This trait is private to the workspace and may
//! change any day; [`Reader`] is its read-only side, for questions that need no lane.
//!
//! A [`Database`] holds several shards, each with a store of its own, and may be shared by several
//! engines at once. Its [`Atlas`] says where things are and what is new; nothing it says decides
//! anything, it only says where to look.

use std::time::Duration;

use armarius_core::event::{Commit, Event, Outcome};
use armarius_core::ids::{
    BatchId, CollectionId, ErrandId, HoldId, ItemId, LeaseId, QueueId, ScheduleId, TaskId, Time,
};
use armarius_core::rows::{Batch, Body, Item, Task};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Need, View};

/// What remembers.
pub trait Store: Send {
    /// Begins a transaction and returns its time, never below the highest time ever committed.
    ///
    /// Whole tables and the commit head of the view are up to date afterwards. A store that shares
    /// its data with other writers makes the view forget what they may have changed.
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError>;

    /// As [`Store::begin`], but `None` at once when another engine is writing just now.
    fn try_begin(&mut self, view: &mut View) -> Result<Option<Time>, StoreError> {
        self.begin(view).map(Some)
    }

    /// After [`Store::begin`]: why something that was acknowledged may be missing, in a sentence
    /// that names the window. The lane raises the epoch of tokens before it grants anything; the
    /// store goes on saying so until a commit has been made durable.
    fn doubt(&self) -> Option<String> {
        None
    }

    /// Whether its time goes on while no engine runs, and other engines renew leases meanwhile.
    /// Else live leases get a fresh term after a start.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether every question is a journey, so that it is worth while to ask for what a whole line
    /// of commands will need at once.
    fn is_far(&self) -> bool {
        false
    }

    /// Loads what is needed into the view: every need is answered, if only by "absent".
    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError>;

    /// Writes everything the view's tables, lists and events have changed, and the commit row, then
    /// makes it durable. After an error nothing of it is there, [`StoreError::Unknown`] excepted.
    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError>;

    /// Ends a transaction that is not wanted.
    fn abandon(&mut self);

    /// Whether nobody else ever writes to it. Then a commit may be made durable on another thread
    /// while the next group is decided from what a reader shows.
    fn may_fly(&self) -> bool {
        false
    }

    /// A read-only side of the same store, for another thread.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// What this store promises, for people.
    fn describe(&self) -> Description;

    /// Whether new work should be refused to keep room for reports of running work.
    fn is_short_of_space(&mut self) -> bool {
        false
    }
}

/// The read-only side of a store: a consistent picture per call, never waiting for the lane.
pub trait Reader: Send {
    /// Loads needs into a view, as [`Store::load`] does, and the whole tables when `fresh`.
    fn look(&mut self, needs: &[Need], view: &mut View, fresh: bool) -> Result<(), StoreError>;

    /// Events of an item after a number, oldest first.
    fn events(&mut self, item: ItemId, after: i64, max: usize) -> Result<Vec<Event>, StoreError>;

    /// Number and seal of the newest commit: whether what was read before is still the newest.
    fn head(&mut self) -> Result<CommitHead, StoreError> {
        let mut view = View::new(0);
        self.look(&[], &mut view, true)?;
        Ok(view.head)
    }

    /// Some events, each by item and number, in the order they are asked for.
    fn events_at(&mut self, refs: &[(ItemId, i64)]) -> Result<Vec<Event>, StoreError> {
        let mut found = Vec::with_capacity(refs.len());
        for (item, n) in refs {
            found.extend(self.events(*item, n - 1, 1)?);
        }
        Ok(found)
    }

    /// Commits after a number, oldest first.
    fn commits(&mut self, after: i64, max: usize) -> Result<Vec<Commit>, StoreError>;

    /// Tasks that match, newest first, below a task number.
    fn tasks(&mut self, filter: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError>;

    /// Tasks and events of several items, in the order they are asked for.
    fn histories(
        &mut self,
        items: &[ItemId],
        limits: HistoryLimits,
    ) -> Result<Vec<History>, StoreError> {
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            let filter =
                TaskFilter { item: Some(*item), max: limits.tasks_max, ..TaskFilter::default() };
            let tasks = self.tasks(&filter)?;
            let events = self.events(*item, 0, limits.events_max)?;
            found.push(History { tasks, events });
        }
        Ok(found)
    }

    /// Items of a collection after a number.
    fn items(
        &mut self,
        collection: CollectionId,
        after: ItemId,
        max: usize,
    ) -> Result<Vec<Item>, StoreError>;

    /// Items of all collections whose mark of this name has this outcome, hidden ones too, after a
    /// number, in order. `None` from a store that has no such index.
    fn marked(
        &mut self,
        mark: (&Name, Outcome),
        after: ItemId,
        max: usize,
    ) -> Result<Option<Vec<ItemId>>, StoreError> {
        let _: (_, _, _) = (mark, after, max);
        Ok(None)
    }

    /// Batches, newest first, below a number.
    fn batches(&mut self, below: Option<BatchId>, max: usize) -> Result<Vec<Batch>, StoreError>;
}

/// Several shards behind one address. Numbers of different shards never meet.
pub trait Database: Send {
    /// How many shards there are, from 0.
    fn shards(&self) -> u16;

    /// The store of one shard. Nothing need be connected before its first transaction.
    fn open(&self, shard: u16) -> Result<Box<dyn Store>, StoreError>;

    /// A way to ask where things are, for one thread.
    fn atlas(&self) -> Result<Box<dyn Atlas>, StoreError>;

    /// A read-only side of all shards together: whole tables of all of them, a number wherever it
    /// lives, lists that belong to nobody (leases that are due, errands) merged in their order.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// News of commits as they happen, where there are any; polling stands behind it.
    fn signals(&self) -> Result<Option<Box<dyn Signals>>, StoreError>;

    /// What it is and promises.
    fn describe(&self) -> Description;
}

/// Where things are, and what is new. Always read outside of any lock: only a hint.
pub trait Atlas: Send {
    /// The shard of a collection: where it is, or where it would be made. The same for everyone.
    fn place(&mut self, collection: &Name) -> Result<u16, StoreError>;

    /// The shard where something is; `None` when it is nowhere.
    fn find(&mut self, thing: Thing) -> Result<Option<u16>, StoreError>;

    /// The state of all shards, in one question.
    fn heads(&mut self) -> Result<Heads, StoreError>;
}

/// Something that has a number or a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// A lease.
    Lease(LeaseId),
    /// A task.
    Task(TaskId),
    /// A batch.
    Batch(BatchId),
    /// A hold.
    Hold(HoldId),
    /// A schedule.
    Schedule(ScheduleId),
    /// An errand.
    Errand(ErrandId),
}

/// The state of all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// The database's time.
    pub now: Time,
    /// One per shard, in order.
    pub shards: Vec<Head>,
}

/// The state of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Number of its newest commit.
    pub n: i64,
    /// The first moment at which a lease, a timer or a hold with an end is due; the beginning of
    /// time when errands are pending.
    pub due: Option<Time>,
    /// Collections with tasks in their queues, each with the best rank's `behind`: lower is sooner.
    /// Queues closed by a hold may be left out.
    pub ready: Vec<(Name, i32)>,
}

/// News of commits by anybody.
pub trait Signals: Send {
    /// Waits for news, no longer than `patience`; says which shards have some. After an error the
    /// caller waits a moment and asks again: connecting anew is this side's business.
    fn wait(&mut self, patience: Duration) -> Result<Vec<u16>, StoreError>;
}

/// Which tasks are wanted.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Only these queues; all when empty.
    pub queues: Vec<QueueId>,
    /// Only these states; all when empty.
    pub states: Vec<State>,
    /// Only of this item.
    pub item: Option<ItemId>,
    /// Only of this batch.
    pub batch: Option<BatchId>,
    /// Only below this number.
    pub below: Option<TaskId>,
    /// Only above this number.
    pub above: Option<TaskId>,
    /// At most so many.
    pub max: usize,
}

/// What became of an item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Its tasks, newest first.
    pub tasks: Vec<(Body, Task)>,
    /// Its events, oldest first.
    pub events: Vec<Event>,
}

/// How much is read of one item.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLimits {
    /// Tasks, the newest.
    pub tasks_max: usize,
    /// Events, the oldest.
    pub events_max: usize,
}

/// What a store is and promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// `memory`, `sqlite`, `postgres`.
    pub kind: &'static str,
    /// Where it is, without secrets.
    pub place: String,
    /// When a commit is on disk, in the words of the store's own setting.
    pub sync: &'static str,
    /// What an acknowledged change survives.
    pub promise: String,
    /// Page size in bytes, where there are pages.
    pub page_bytes: u64,
    /// Cache in bytes, where there is one.
    pub cache_bytes: u64,
}

/// Why a store could not do it, by what is to be done next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was changed; trying again may work.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// There is no room; nothing was changed.
    #[error("store is full: {0}")]
    Full(String),
    /// Whether the commit was made could not be found out. Nothing may be assumed.
    #[error("whether the change was made is not known: {0}")]
    Unknown(String),
    /// The store cannot be used by this process: held by another one, newer schema, wrong file.
    #[error("store cannot be used: {0}")]
    Unusable(String),
    /// What is stored contradicts itself. The process must stop.
    #[error("store is corrupt: {0}")]
    Corrupt(String),
    /// The disk did not keep what it was given. The process must stop and never try again.
    #[error("store lost its disk: {0}")]
    Disk(String),
}
