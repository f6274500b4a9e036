//! The whole content of a store, as plain maps: what two stores are compared by, and what the
//! invariants are checked on.
//!
//! Only base tables and lists are here. What the view marks as derived is computed by
//! [`Derived`] from them.

mod basket;
mod derived;
mod sums;

pub(crate) use basket::{Basket, PIECE_BYTES_MAX, PIECE_ROWS_MAX, Piece, Take};
pub use derived::{Derived, Names};
pub(crate) use sums::Sums;

use std::collections::BTreeMap;
use std::fmt::Debug;

use armarius_core::event::{Commit, Event};
use armarius_core::ids::{
    BatchId, CollectionId, ErrandId, FlowId, HoldId, ItemId, LeaseId, QueueId, ScheduleId, TaskId,
    Time, Token, VersionId,
};
use armarius_core::rows::{
    Archive, Batch, Body, Collection, Counter, Destination, Edge, Errand, FlowRow, Hold, Idem,
    Item, Key, Lease, Letter, Manifest, Mark, Member, Queue, Rank, Round, RoundKey, Schedule,
    Slots, Target, Task, Version,
};
use armarius_core::text::{Name, Text};
use armarius_core::view::{CommitHead, View};

/// Lists by owner. A list without entries is not there.
pub type List<P, K, R> = BTreeMap<P, BTreeMap<K, R>>;

macro_rules! world {
    (
        tables { $($(#[$td:meta])* $table:ident: $key:ty => $row:ty;)* }
        lists { $($(#[$ld:meta])* $list:ident: ($owner:ty, $lkey:ty) => $lrow:ty;)* }
    ) => {
        /// The whole content of a store.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct World {
            $($(#[$td])* pub $table: BTreeMap<$key, $row>,)*
            $($(#[$ld])* pub $list: List<$owner, $lkey, $lrow>,)*
            /// Every event, by item and number.
            pub events: BTreeMap<(ItemId, i64), Event>,
            /// Every commit, by number.
            pub commits: BTreeMap<i64, Commit>,
        }

        impl World {
            /// Takes over what a view has changed, and the commit that seals it.
            pub fn apply(&mut self, view: &View, commit: &Commit) {
                $(for (key, row) in view.$table.changes() {
                    match row {
                        Some(row) => self.$table.insert(key.clone(), row.clone()),
                        None => self.$table.remove(key),
                    };
                })*
                $(for (owner, key, row) in view.$list.changes() {
                    change(&mut self.$list, owner, key, row);
                })*
                for event in &view.events {
                    self.events.insert((event.item, event.n), event.clone());
                }
                self.commits.insert(commit.n, commit.clone());
            }

            /// What is different, one line each; nothing when the worlds are equal.
            #[must_use]
            pub fn differences(&self, other: &Self) -> Vec<String> {
                let mut out = Vec::new();
                $(compare(&mut out, stringify!($table), &self.$table, &other.$table);)*
                $(compare(&mut out, stringify!($list), &self.$list, &other.$list);)*
                compare(&mut out, "events", &self.events, &other.events);
                compare(&mut out, "commits", &self.commits, &other.commits);
                out
            }

            /// Everything but the commits as changes of views, so many rows each.
            pub(crate) fn to_pages(&self, shard: u16, rows_max: usize) -> Vec<View> {
                let mut pages = Pages { shard, rows_max, full: Vec::new(), open: View::new(shard) };
                $(for (key, row) in &self.$table {
                    pages.next().$table.put(key.clone(), row.clone());
                })*
                $(for (owner, rows) in &self.$list {
                    for (key, row) in rows {
                        pages.next().$list.put(owner.clone(), key.clone(), row.clone());
                    }
                })*
                for event in self.events.values() {
                    pages.next().events.push(event.clone());
                }
                pages.all()
            }

            /// Adds every row to the sums of a shard.
            pub(crate) fn sum_up(&self, shard: u16, sums: &mut Sums) {
                $(sums.add_table(shard, stringify!($table), &self.$table);)*
                $(for (owner, rows) in &self.$list {
                    sums.add_list(shard, stringify!($list), owner, rows);
                })*
                sums.add_table(shard, "events", &self.events);
                sums.add_table(shard, "commits", &self.commits);
            }

            fn fill_base(&self, view: &mut View) {
                $(for (key, row) in &self.$table {
                    view.$table.load(key.clone(), Some(row.clone()));
                })*
                $(for (owner, rows) in &self.$list {
                    let rows = rows.iter().map(|(k, r)| (k.clone(), r.clone())).collect();
                    view.$list.load(owner.clone(), None, rows, true);
                })*
            }
        }
    };
}

world! {
    tables {
        /// Collections by number.
        collections: CollectionId => Collection;
        /// Flows by number.
        flows: FlowId => FlowRow;
        /// Queues by number.
        queues: QueueId => Queue;
        /// Holds by number.
        holds: HoldId => Hold;
        /// Schedules.
        schedules: ScheduleId => Schedule;
        /// Keys by public part.
        keys: Name => Key;
        /// Archives, by collection.
        archives: CollectionId => Archive;
        /// Running numbers.
        counters: Counter => i64;
        /// Versions of flows.
        versions: VersionId => Version;
        /// Items by number.
        items: ItemId => Item;
        /// Marks by item and event name.
        marks: (ItemId, Name) => Mark;
        /// Bodies of tasks.
        bodies: TaskId => Body;
        /// Tasks.
        tasks: TaskId => Task;
        /// Rounds with more than one task.
        rounds: RoundKey => Round;
        /// The newest planned instance of a step on items with an ordinal: ordinal and task.
        newest: QueueId => (i64, TaskId);
        /// Slots of limits, by key.
        slots: Text => Slots;
        /// Leases.
        leases: LeaseId => Lease;
        /// Batches.
        batches: BatchId => Batch;
        /// Destinations of letters.
        destinations: Text => Destination;
        /// Idempotency keys.
        idems: Text => Idem;
        /// Manifests of attempts.
        manifests: (TaskId, Token) => Manifest;
    }
    lists {
        /// Ready tasks of a queue, in order.
        ready: (QueueId, Rank) => ();
        /// Tasks waiting in the line of a limit, in order.
        lines: (Text, Rank) => ();
        /// Ready tasks whose time has not come.
        timers: ((), (Time, TaskId)) => ();
        /// Who depends on a target.
        dependents: (Target, TaskId) => Edge;
        /// Open tasks of items with an ordinal, by queue.
        instances: (QueueId, (i64, TaskId)) => ();
        /// Tasks that met a hold.
        held: (HoldId, TaskId) => ();
        /// Members of a batch.
        members: (BatchId, i64) => Member;
        /// Errands, oldest first.
        errands: ((), ErrandId) => Errand;
        /// Letters of a destination, oldest first.
        letters: (Text, i64) => Letter;
    }
}

impl World {
    /// Number and seal of the newest commit.
    #[must_use]
    pub fn head(&self) -> CommitHead {
        self.commits.last_key_value().map_or_else(CommitHead::default, |(_, commit)| CommitHead {
            n: commit.n,
            seal: commit.seal,
        })
    }

    /// A view that holds the whole world: every table is loaded, every list complete, and nothing
    /// is ever needed.
    #[must_use]
    pub fn into_view(self) -> View {
        let mut view = View::new(0);
        self.fill_base(&mut view);
        Derived::of(&self).fill(&mut view);
        Names::of(&self).fill(&mut view);
        self.fill_heads(&mut view);
        view.know_everything();
        view.head = self.head();
        view
    }
}

/// Views in the making.
struct Pages {
    shard: u16,
    rows_max: usize,
    full: Vec<View>,
    open: View,
}

impl Pages {
    /// The view the next row goes to.
    fn next(&mut self) -> &mut View {
        if self.open.dirty_len() + self.open.events.len() >= self.rows_max {
            self.full.push(std::mem::replace(&mut self.open, View::new(self.shard)));
        }
        &mut self.open
    }

    fn all(mut self) -> Vec<View> {
        if self.open.dirty_len() + self.open.events.len() > 0 {
            self.full.push(self.open);
        }
        self.full
    }
}

/// Writes or removes an entry of a list.
pub(crate) fn change<P, K, R>(list: &mut List<P, K, R>, owner: &P, key: &K, row: Option<&R>)
where
    P: Ord + Clone,
    K: Ord + Clone,
    R: Clone,
{
    match row {
        Some(row) => {
            list.entry(owner.clone()).or_default().insert(key.clone(), row.clone());
        }
        None => {
            if let Some(rows) = list.get_mut(owner) {
                rows.remove(key);
                if rows.is_empty() {
                    list.remove(owner);
                }
            }
        }
    }
}

fn compare<K, R>(out: &mut Vec<String>, table: &str, left: &BTreeMap<K, R>, right: &BTreeMap<K, R>)
where
    K: Ord + Debug,
    R: PartialEq + Debug,
{
    for (key, row) in left {
        match right.get(key) {
            None => out.push(format!("{table} {key:?}: only left: {row:?}")),
            Some(other) if other != row => {
                out.push(format!("{table} {key:?}: left {row:?}, right {other:?}"));
            }
            Some(_) => {}
        }
    }
    for (key, row) in right.iter().filter(|(key, _)| !left.contains_key(key)) {
        out.push(format!("{table} {key:?}: only right: {row:?}"));
    }
}
