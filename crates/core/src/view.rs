//! The sheet of rows that [`decide`](crate::decide()) works on.
//!
//! Somebody else loads it; `decide` reads and writes it. What it does not hold makes `decide` stop
//! with a [`Need`]; a stop takes back everything that was written, so that from the outside the
//! sheet is either unchanged or holds the whole decision. Commands decided one after another on
//! the same sheet see each other; what they wrote is committed together.

mod cells;
mod line;
mod range;
mod table;

pub(crate) use line::{Glanced, Line, Robot};
pub use range::Ranged;
pub use table::Table;

use crate::event::{Event, Hash, Head};
use crate::ids::{
    BatchId, CollectionId, ErrandId, FlowId, HoldId, ItemId, LeaseId, QueueId, ScheduleId, TaskId,
    Time, Token, VersionId,
};
use crate::refusal::Refusal;
use crate::rows::{
    Archive, Batch, Body, Collection, Counter, Destination, Edge, Errand, FlowRow, Hold, Idem,
    Item, ItemKey, Key, Lease, Letter, Manifest, Mark, Member, Queue, Rank, Round, RoundKey,
    Schedule, Scope, Slots, Target, Task, TaskKey, Version,
};
use crate::text::{Name, Text};

/// How long rows stay on the sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stay {
    /// Everything is always there; what is not there does not exist.
    Whole,
    /// What was loaded or written stays, as a cache, until it is forgotten.
    Kept,
    /// What was written leaves with its commit: it is rarely asked for again.
    Passing,
}

/// Why a decision could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// These must be loaded first.
    Need(Vec<Need>),
    /// The answer is no.
    Refuse(Box<Refusal>),
}

impl Stop {
    /// One thing is missing.
    #[must_use]
    pub fn need(need: Need) -> Self {
        Self::Need(vec![need])
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refuse(Box::new(refusal))
    }
}

macro_rules! sheet {
    (
        tables {
            $($(#[$td:meta])* $table:ident: $need:ident($key:ty) => $row:ty, $mode:ident;)*
        }
        lists {
            $($(#[$ld:meta])*
            $list:ident: $lneed:ident($owner:ty, $lkey:ty) => $lrow:ty, $lmode:ident;)*
        }
    ) => {
        /// Something that must be loaded: one row, or at least so many entries of a list after a
        /// key.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Need {
            $($(#[$td])* $need($key),)*
            $($(#[$ld])* $lneed($owner, Option<$lkey>, usize),)*
        }

        impl Need {
            /// Whether both ask for entries of the same list, of which one stretch is known at a
            /// time.
            #[must_use]
            pub fn is_of_same_list(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$lneed(a, _, _), Self::$lneed(b, _, _)) => a == b,)*
                    _ => false,
                }
            }
        }

        /// The sheet.
        #[derive(Debug)]
        pub struct View {
            $($(#[$td])* pub $table: Table<$key, $row>,)*
            $($(#[$ld])* pub $list: Ranged<$owner, $lkey, $lrow>,)*
            /// Events appended since the last commit, in order.
            pub events: Vec<Event>,
            /// Events that belong to decisions already made.
            events_kept: usize,
            /// Tasks that settled since the last commit, with their items.
            cold: Vec<(TaskId, ItemId)>,
            /// Those of them that belong to decisions already made.
            cold_kept: usize,
            /// Tasks that settled in the turn whose commit is under way.
            cold_flying: Vec<(TaskId, ItemId)>,
            /// Number and seal of the newest commit.
            pub head: CommitHead,
            /// The shard whose rows these are.
            pub shard: u16,
            /// Which robots an event concerns, as far as somebody asked.
            pub(crate) robots: line::Memo,
        }

        impl View {
            /// An empty sheet: an empty world, as far as whole tables go.
            #[must_use]
            pub fn new(shard: u16) -> Self {
                Self {
                    $($table: Table::new(Need::$need, Stay::$mode),)*
                    $($list: Ranged::new(Need::$lneed, Stay::$lmode),)*
                    events: Vec::new(),
                    events_kept: 0,
                    cold: Vec::new(),
                    cold_kept: 0,
                    cold_flying: Vec::new(),
                    head: CommitHead::default(),
                    shard,
                    robots: line::Memo::default(),
                }
            }

            /// A sheet that holds a whole world, empty at first: nothing on it is ever unknown.
            #[must_use]
            pub fn world(shard: u16) -> Self {
                Self {
                    $($table: Table::new(Need::$need, Stay::Whole),)*
                    $($list: Ranged::new(Need::$lneed, Stay::Whole),)*
                    ..Self::new(shard)
                }
            }

            /// Gives another sheet what it needs from this world.
            pub fn lend(&self, needs: &[Need], to: &mut Self) {
                for need in needs {
                    match need {
                        $(Need::$need(key) => self.$table.lend(key, &mut to.$table),)*
                        $(Need::$lneed(owner, after, n) => {
                            self.$list.lend(owner, after.as_ref(), *n, &mut to.$list);
                        })*
                    }
                }
            }

            /// Gives a new sheet the tables that are always whole.
            pub fn lend_whole(&self, to: &mut Self) {
                $(if Stay::$mode == Stay::Whole { self.$table.lend_all(&mut to.$table); })*
                to.head = self.head;
            }

            /// Notes what several sheets, each of its own shard, found for needs: a row wherever it
            /// is, a list merged in its order. `fresh`: the whole tables too.
            pub fn gather(&mut self, needs: &[Need], from: &[Self], fresh: bool) {
                if fresh {
                    for sheet in from {
                        sheet.lend_whole(self);
                    }
                }
                for need in needs {
                    match need {
                        $(Need::$need(key) => {
                            let found = from.iter().find_map(|s| s.$table.get(key).ok().flatten());
                            self.$table.load(key.clone(), found.cloned());
                        })*
                        $(Need::$lneed(owner, after, n) => {
                            let lists: Vec<_> = from.iter().map(|s| &s.$list).collect();
                            self.$list.gather(owner, after.as_ref(), *n, &lists);
                        })*
                    }
                }
            }

            /// Writes what another sheet has changed, events excepted, onto this world.
            pub fn absorb(&mut self, from: &Self) {
                $(self.$table.absorb(&from.$table);)*
                $(self.$list.absorb(&from.$list);)*
            }

            /// Makes what was written part of the sheet.
            pub fn keep(&mut self) {
                $(self.$table.keep();)*
                $(self.$list.keep();)*
                self.events_kept = self.events.len();
                self.cold_kept = self.cold.len();
            }

            /// Notes that a task has settled, so that it need not be kept after the commit.
            pub(crate) fn settled(&mut self, task: TaskId, item: ItemId) {
                self.cold.push((task, item));
            }

            /// Takes back what was written since [`View::keep`].
            pub fn rollback(&mut self) {
                $(self.$table.rollback();)*
                $(self.$list.rollback();)*
                self.events.truncate(self.events_kept);
                self.cold.truncate(self.cold_kept);
            }

            /// What was written is durable now.
            pub fn committed(&mut self, head: CommitHead) {
                $(self.$table.committed();)*
                $(self.$list.committed();)*
                self.events.clear();
                self.events_kept = 0;
                self.cold_kept = 0;
                self.head = head;
                let cold = std::mem::take(&mut self.cold);
                self.drop_cold(cold);
            }

            /// Packs what was written into a parcel that somebody else makes durable, and begins
            /// the next turn on this sheet. One parcel at a time may be under way; what is loaded
            /// meanwhile is corrected by what it holds.
            #[must_use]
            pub fn launch(&mut self) -> Self {
                let mut parcel = Self::new(self.shard);
                $(self.$table.launch(&mut parcel.$table);)*
                $(self.$list.launch(&mut parcel.$list);)*
                parcel.events = std::mem::take(&mut self.events);
                parcel.head = self.head;
                self.events_kept = 0;
                self.cold_kept = 0;
                self.cold_flying = std::mem::take(&mut self.cold);
                parcel
            }

            /// The parcel under way is durable now.
            pub fn landed(&mut self, head: CommitHead) {
                $(self.$table.landed();)*
                $(self.$list.landed();)*
                self.head = head;
                let cold = std::mem::take(&mut self.cold_flying);
                self.drop_cold(cold);
            }

            /// Drops what is kept of tasks that have settled: they are rarely asked for again.
            fn drop_cold(&mut self, cold: Vec<(TaskId, ItemId)>) {
                for (task, item) in cold {
                    self.tasks.drop_clean(&task);
                    self.bodies.drop_clean(&task);
                    self.dependents.drop_clean(&Target::Task(task));
                    self.items.drop_clean(&item);
                    self.heads.drop_clean(&item);
                }
            }

            /// Drops what a robot's registration only looked at: a million items must not drive out
            /// what others work with.
            pub(crate) fn drop_glanced(&mut self, glanced: &Glanced) {
                for item in &glanced.items {
                    self.items.drop_clean(item);
                    self.latest_rounds.drop_clean(&(*item, glanced.flow));
                    for name in &glanced.names {
                        self.marks.drop_clean(&(*item, name.clone()));
                    }
                }
            }

            /// Drops everything that can be loaded again.
            pub fn forget(&mut self) {
                $(self.$table.forget();)*
                $(self.$list.forget();)*
            }

            /// Declares that the sheet holds the whole world: what it does not hold is absent, and
            /// nothing is ever needed. For checks over everything.
            pub fn know_everything(&mut self) {
                $(self.$table.know_everything();)*
                $(self.$list.know_everything();)*
            }

            /// Rows written since the last commit, history not counted.
            #[must_use]
            pub fn dirty_len(&self) -> usize {
                0 $(+ self.$table.dirty_len())* $(+ self.$list.dirty_len())*
            }

            /// Everything written since the last commit as text, for comparing two sheets.
            #[must_use]
            pub fn changes_text(&self) -> Vec<String> {
                let mut lines = Vec::new();
                $(lines.extend(self.$table.changes().map(|(k, r)| {
                    format!("{} {k:?} = {r:?}", stringify!($table))
                }));)*
                $(lines.extend(self.$list.changes().map(|(p, k, r)| {
                    format!("{} {p:?} {k:?} = {r:?}", stringify!($list))
                }));)*
                lines.extend(self.events.iter().map(|e| format!("event {e:?}")));
                lines.sort();
                lines
            }

            /// Rows kept in memory.
            #[must_use]
            pub fn cached_len(&self) -> usize {
                0 $(+ self.$table.len())* $(+ self.$list.len())*
            }
        }
    };
}

sheet! {
    tables {
        /// Collections by number.
        collections: Collection(CollectionId) => Collection, Whole;
        /// Collections by name (derived).
        collection_names: CollectionName(Name) => CollectionId, Whole;
        /// Flows by number.
        flows: Flow(FlowId) => FlowRow, Whole;
        /// Flows by name (derived).
        flow_names: FlowName((CollectionId, Name)) => FlowId, Whole;
        /// Queues by number.
        queues: Queue(QueueId) => Queue, Whole;
        /// Queues by step (derived).
        queue_names: QueueName((FlowId, Name)) => QueueId, Whole;
        /// Holds by number.
        holds: Hold(HoldId) => Hold, Whole;
        /// Holds by what they brake (derived).
        hold_scopes: HoldScope(Scope) => HoldId, Whole;
        /// Schedules.
        schedules: Schedule(ScheduleId) => Schedule, Whole;
        /// Keys by public part.
        keys: Key(Name) => Key, Whole;
        /// Archives, by collection.
        archives: Archive(CollectionId) => Archive, Whole;
        /// Running numbers.
        counters: Counter(Counter) => i64, Whole;
        /// Versions of flows.
        versions: Version(VersionId) => Version, Kept;
        /// Versions by flow and digest (derived).
        version_digests: VersionDigest((FlowId, [u8; 32])) => VersionId, Passing;
        /// Items by number.
        items: Item(ItemId) => Item, Kept;
        /// Items by natural key (derived).
        item_keys: ItemKey(ItemKey) => ItemId, Passing;
        /// Newest event number and hash of an item (derived from its events).
        heads: Head(ItemId) => Head, Kept;
        /// Marks by item and event name.
        marks: Mark((ItemId, Name)) => Mark, Passing;
        /// Bodies of tasks.
        bodies: Body(TaskId) => Body, Kept;
        /// Tasks by natural key (derived).
        task_keys: TaskKey(TaskKey) => TaskId, Passing;
        /// Tasks.
        tasks: Task(TaskId) => Task, Kept;
        /// The newest round of a flow on an item (derived).
        latest_rounds: LatestRound((ItemId, FlowId)) => u32, Passing;
        /// Rounds with more than one task.
        rounds: Round(RoundKey) => Round, Kept;
        /// The newest planned instance of a step on items with an ordinal: ordinal and task.
        newest: Newest(QueueId) => (i64, TaskId), Kept;
        /// Slots of limits, by key.
        slots: Slots(Text) => Slots, Kept;
        /// Leases.
        leases: Lease(LeaseId) => Lease, Kept;
        /// Batches.
        batches: Batch(BatchId) => Batch, Kept;
        /// Destinations of letters.
        destinations: Destination(Text) => Destination, Passing;
        /// Idempotency keys.
        idems: Idem(Text) => Idem, Passing;
        /// Manifests of attempts.
        manifests: Manifest((TaskId, Token)) => Manifest, Passing;
    }
    lists {
        /// Ready tasks of a queue, in order.
        ready: Ready(QueueId, Rank) => (), Kept;
        /// Tasks waiting in the line of a limit, in order.
        lines: Line(Text, Rank) => (), Kept;
        /// Ready tasks whose time has not come.
        timers: Timer((), (Time, TaskId)) => (), Kept;
        /// Leases by the next moment something is due (derived).
        due_leases: DueLease((), (Time, LeaseId)) => (), Kept;
        /// Who depends on a target.
        dependents: Dependents(Target, TaskId) => Edge, Kept;
        /// What a task waits for (derived).
        blockers: Blockers(TaskId, Target) => Edge, Passing;
        /// Open tasks of items with an ordinal, by queue: what superseding looks through.
        instances: Instances(QueueId, (i64, TaskId)) => (), Kept;
        /// Tasks that met a hold.
        held: Held(HoldId, TaskId) => (), Kept;
        /// Members of a batch.
        members: Members(BatchId, i64) => Member, Passing;
        /// Tasks of an item (derived).
        item_tasks: ItemTasks(ItemId, TaskId) => (), Passing;
        /// Names of an item's marks (derived).
        item_marks: ItemMarks(ItemId, Name) => (), Passing;
        /// Items of a collection (derived).
        collection_items: CollectionItems(CollectionId, ItemId) => (), Passing;
        /// Errands, oldest first.
        errands: Errands((), ErrandId) => Errand, Kept;
        /// Letters of a destination, oldest first.
        letters: Letters(Text, i64) => Letter, Passing;
        /// Destinations by the moment their oldest letter is due (derived).
        due_letters: DueLetters((), (Time, Text)) => (), Kept;
    }
}

/// Number and seal of the newest commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitHead {
    /// Number, 0 before the first.
    pub n: i64,
    /// Seal, zero before the first.
    pub seal: Hash,
}
