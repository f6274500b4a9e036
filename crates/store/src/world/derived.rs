//! What follows from the base rows: the ways they are found by.

use std::collections::{BTreeMap, BTreeSet};

use armarius_core::event::{Event, Head};
use armarius_core::flow::Digest;
use armarius_core::ids::{
    CollectionId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId, Time, VersionId,
};
use armarius_core::rows::{
    Body, Destination, Edge, Item, ItemKey, Lease, Scope, Target, TaskKey, Version,
};
use armarius_core::text::{Name, Text};
use armarius_core::view::View;

use super::{List, World, change};

/// The derived tables and lists of a [`World`] that may grow large. [`Derived::note_item`] and its
/// like take a row in, `drop_…` takes it out again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// Versions by flow and digest.
    pub version_digests: BTreeMap<(FlowId, Digest), VersionId>,
    /// Items by natural key.
    pub item_keys: BTreeMap<ItemKey, ItemId>,
    /// Tasks by natural key.
    pub task_keys: BTreeMap<TaskKey, TaskId>,
    /// Every round of a flow on an item, with its tasks.
    pub rounds: BTreeSet<(ItemId, FlowId, u32, TaskId)>,
    /// Leases by the next moment something is due.
    pub due_leases: List<(), (Time, LeaseId), ()>,
    /// What a task waits for.
    pub blockers: List<TaskId, Target, Edge>,
    /// Tasks of an item.
    pub item_tasks: List<ItemId, TaskId, ()>,
    /// Names of an item's marks.
    pub item_marks: List<ItemId, Name, ()>,
    /// Items of a collection.
    pub collection_items: List<CollectionId, ItemId, ()>,
    /// Destinations by the moment their oldest letter is due.
    pub due_letters: List<(), (Time, Text), ()>,
}

/// The derived whole tables: small, so they are made anew whenever they are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Collections by name.
    pub collections: BTreeMap<Name, CollectionId>,
    /// Flows by name.
    pub flows: BTreeMap<(CollectionId, Name), FlowId>,
    /// Queues by step.
    pub queues: BTreeMap<(FlowId, Name), QueueId>,
    /// Holds by what they brake.
    pub holds: BTreeMap<Scope, HoldId>,
}

impl Derived {
    /// Everything that follows from a world.
    #[must_use]
    pub fn of(world: &World) -> Self {
        let mut derived = Self::default();
        world.versions.values().for_each(|v| derived.note_version(v));
        world.items.values().for_each(|i| derived.note_item(i));
        world.bodies.values().for_each(|b| derived.note_body(b));
        world.leases.values().for_each(|l| derived.note_lease(l));
        world.destinations.iter().for_each(|(k, d)| derived.note_destination(k, d));
        world.marks.keys().for_each(|(item, name)| derived.note_mark(*item, name, true));
        for (target, tasks) in &world.dependents {
            tasks.iter().for_each(|(task, edge)| derived.note_edge(target, *task, Some(edge)));
        }
        derived
    }

    /// The newest round of a flow on an item.
    #[must_use]
    pub fn latest_round(&self, item: ItemId, flow: FlowId) -> Option<u32> {
        let from = (item, flow, 0, TaskId(i64::MIN));
        let to = (item, flow, u32::MAX, TaskId(i64::MAX));
        self.rounds.range(from..=to).next_back().map(|(_, _, round, _)| *round)
    }

    pub(crate) fn note_version(&mut self, version: &Version) {
        self.version_digests.insert((version.flow, version.digest), version.id);
    }

    pub(crate) fn drop_version(&mut self, version: &Version) {
        self.version_digests.remove(&(version.flow, version.digest));
    }

    pub(crate) fn note_item(&mut self, item: &Item) {
        self.item_keys.insert(key_of(item), item.id);
        change(&mut self.collection_items, &item.collection, &item.id, Some(&()));
    }

    pub(crate) fn drop_item(&mut self, item: &Item) {
        self.item_keys.remove(&key_of(item));
        change(&mut self.collection_items, &item.collection, &item.id, None);
    }

    pub(crate) fn note_body(&mut self, body: &Body) {
        self.task_keys.insert(task_key_of(body), body.id);
        self.rounds.insert((body.item, body.flow, body.round, body.id));
        change(&mut self.item_tasks, &body.item, &body.id, Some(&()));
    }

    pub(crate) fn drop_body(&mut self, body: &Body) {
        self.task_keys.remove(&task_key_of(body));
        self.rounds.remove(&(body.item, body.flow, body.round, body.id));
        change(&mut self.item_tasks, &body.item, &body.id, None);
    }

    pub(crate) fn note_lease(&mut self, lease: &Lease) {
        change(&mut self.due_leases, &(), &(lease.due_at(), lease.id), Some(&()));
    }

    pub(crate) fn drop_lease(&mut self, lease: &Lease) {
        change(&mut self.due_leases, &(), &(lease.due_at(), lease.id), None);
    }

    pub(crate) fn note_destination(&mut self, key: &Text, destination: &Destination) {
        if let Some(due) = destination.due_at {
            change(&mut self.due_letters, &(), &(due, key.clone()), Some(&()));
        }
    }

    pub(crate) fn drop_destination(&mut self, key: &Text, destination: &Destination) {
        if let Some(due) = destination.due_at {
            change(&mut self.due_letters, &(), &(due, key.clone()), None);
        }
    }

    pub(crate) fn note_mark(&mut self, item: ItemId, name: &Name, there: bool) {
        change(&mut self.item_marks, &item, name, there.then_some(&()));
    }

    pub(crate) fn note_edge(&mut self, target: &Target, task: TaskId, edge: Option<&Edge>) {
        change(&mut self.blockers, &task, target, edge);
    }

    /// Notes everything in a view, except what [`Names`] and the events give.
    pub(super) fn fill(&self, view: &mut View) {
        for (key, id) in &self.version_digests {
            view.version_digests.load(*key, Some(*id));
        }
        for (key, id) in &self.item_keys {
            view.item_keys.load(key.clone(), Some(*id));
        }
        for (key, id) in &self.task_keys {
            view.task_keys.load(key.clone(), Some(*id));
        }
        for (item, flow, _, _) in &self.rounds {
            view.latest_rounds.load((*item, *flow), self.latest_round(*item, *flow));
        }
        let due = self.due_leases.values().flatten().map(|(k, ())| (*k, ())).collect();
        view.due_leases.load((), None, due, true);
        let due = self.due_letters.values().flatten().map(|(k, ())| (k.clone(), ())).collect();
        view.due_letters.load((), None, due, true);
        for (task, edges) in &self.blockers {
            let edges = edges.iter().map(|(t, e)| (t.clone(), *e)).collect();
            view.blockers.load(*task, None, edges, true);
        }
        for (item, tasks) in &self.item_tasks {
            let tasks = tasks.keys().map(|t| (*t, ())).collect();
            view.item_tasks.load(*item, None, tasks, true);
        }
        for (item, names) in &self.item_marks {
            let names = names.keys().map(|name| (name.clone(), ())).collect();
            view.item_marks.load(*item, None, names, true);
        }
        for (collection, items) in &self.collection_items {
            let items = items.keys().map(|i| (*i, ())).collect();
            view.collection_items.load(*collection, None, items, true);
        }
    }
}

impl Names {
    /// The names of a world.
    #[must_use]
    pub fn of(world: &World) -> Self {
        Self {
            collections: world.collections.values().map(|c| (c.name.clone(), c.id)).collect(),
            flows: world.flows.values().map(|f| ((f.collection, f.name.clone()), f.id)).collect(),
            queues: world.queues.values().map(|q| ((q.flow, q.step.clone()), q.id)).collect(),
            holds: world.holds.values().map(|h| (h.scope, h.id)).collect(),
        }
    }

    /// Notes them in a view.
    pub(crate) fn fill(self, view: &mut View) {
        for (name, id) in self.collections {
            view.collection_names.load(name, Some(id));
        }
        for (name, id) in self.flows {
            view.flow_names.load(name, Some(id));
        }
        for (name, id) in self.queues {
            view.queue_names.load(name, Some(id));
        }
        for (scope, id) in self.holds {
            view.hold_scopes.load(scope, Some(id));
        }
    }
}

impl World {
    /// The newest event number and hash of an item.
    #[must_use]
    pub fn event_head(&self, item: ItemId) -> Option<Head> {
        let (_, event) = self.events.range((item, i64::MIN)..=(item, i64::MAX)).next_back()?;
        Some(Head { n: event.n, hash: event.hash })
    }

    pub(super) fn fill_heads(&self, view: &mut View) {
        // Events come in order, so the last one of each item stays.
        let newest = |e: &Event| (e.item, Head { n: e.n, hash: e.hash });
        let heads: BTreeMap<ItemId, Head> = self.events.values().map(newest).collect();
        for (item, head) in heads {
            view.heads.load(item, Some(head));
        }
    }
}

fn key_of(item: &Item) -> ItemKey {
    ItemKey { collection: item.collection, kind: item.kind.clone(), key: item.key.clone() }
}

fn task_key_of(body: &Body) -> TaskKey {
    TaskKey { item: body.item, queue: body.queue, part: body.part.clone(), round: body.round }
}
