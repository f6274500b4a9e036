//! Which row goes where, and which commits seal it there.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use armarius_core::address::escape_name;
use armarius_core::event::{Commit, Event, Hash, seal};
use armarius_core::ids::{
    BatchId, CollectionId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId, Time,
};
use armarius_core::rows::{Counter, Destination, Errand, Follow, Idem, Lease, Made, Scope, Target};
use armarius_core::text::Text;
use armarius_engine::seam::StoreError;

use crate::world::World;

/// Events that one commit of a copy seals.
const COMMIT_EVENTS: usize = 5_000;

/// What the target is to hold.
pub(super) struct Plan {
    /// Each shard, with the commits that seal its events.
    pub(super) worlds: Vec<World>,
    /// The chains of the source, by shard, where they could not stay what they are.
    pub(super) past: Vec<(u16, Commit)>,
}

/// Where things of the source go.
#[derive(Default)]
struct Map {
    collections: HashMap<CollectionId, u16>,
    names: HashMap<String, u16>,
    flows: HashMap<FlowId, u16>,
    queues: HashMap<QueueId, u16>,
    items: HashMap<ItemId, u16>,
    tasks: HashMap<TaskId, u16>,
    batches: HashMap<BatchId, u16>,
    holds: HashMap<HoldId, u16>,
}

/// Gives every row of a source its shard.
pub(super) fn plan(
    sources: Vec<World>,
    shards: u16,
    place: impl Fn(&str) -> u16,
) -> Result<Plan, StoreError> {
    let map = Map::of(&sources, place)?;
    let mut worlds: Vec<World> = (0..shards).map(|_| World::default()).collect();
    let mut order: Vec<Vec<Event>> = worlds.iter().map(|_| Vec::new()).collect();
    let mut past = Vec::new();
    for (from, source) in (0..).zip(&sources) {
        for commit in source.commits.values() {
            past.push((from, commit.clone()));
            for at in &commit.events {
                let event = source.events.get(at).cloned();
                let event = event.ok_or_else(|| lost("an event of a commit", at))?;
                if let Some(all) = order.get_mut(usize::from(map.item(event.item)?)) {
                    all.push(event);
                }
            }
        }
    }
    let verbatim = sources.iter().filter(|w| !w.commits.is_empty()).count() == 1
        && order.iter().filter(|events| !events.is_empty()).count() <= 1;
    for (from, source) in (0..).zip(sources) {
        map.spread(from, source, &mut worlds)?;
    }
    let counters = counters(&past, &worlds);
    for ((world, events), shard) in worlds.iter_mut().zip(order).zip(0_u16..) {
        count(world, shard, &counters);
        world.events.extend(events.iter().map(|e| ((e.item, e.n), e.clone())));
        let has_all = verbatim && !events.is_empty();
        let commits = if has_all { taken_over(&past) } else { anew(counters.clock, &events) };
        world.commits.extend(commits.into_iter().map(|c| (c.n, c)));
    }
    Ok(Plan { worlds, past: if verbatim { Vec::new() } else { past } })
}

fn lost(what: &str, which: &dyn std::fmt::Debug) -> StoreError {
    StoreError::Corrupt(format!("{what} leads nowhere: {which:?}; run `armarius doctor`"))
}

/// The chain as it was.
fn taken_over(past: &[(u16, Commit)]) -> Vec<Commit> {
    past.iter().map(|(_, commit)| commit.clone()).collect()
}

/// A chain of its own for the events of a shard, in the order they were committed. A shard without
/// events has one commit too: its running numbers count on from those of the source, or numbers
/// would be given twice.
fn anew(at: Time, events: &[Event]) -> Vec<Commit> {
    if events.is_empty() {
        return vec![seal(1, at, Hash::default(), &[])];
    }
    let mut commits = Vec::new();
    let (mut n, mut prev) = (0, Hash::default());
    for some in events.chunks(COMMIT_EVENTS) {
        n += 1;
        let commit = seal(n, at, prev, some);
        prev = commit.seal;
        commits.push(commit);
    }
    commits
}

/// Running numbers of the whole source.
struct Counters {
    by_shard: Vec<BTreeMap<Counter, i64>>,
    turn: i64,
    epoch: i64,
    clock: Time,
}

/// Notes the running numbers, which were spread with everything else, and takes them out.
fn counters(past: &[(u16, Commit)], worlds: &[World]) -> Counters {
    let by_shard: Vec<BTreeMap<Counter, i64>> =
        worlds.iter().map(|world| world.counters.clone()).collect();
    let highest = |counter| by_shard.iter().filter_map(|c| c.get(&counter)).max().copied();
    let newest = past.iter().map(|(_, commit)| commit.at).max();
    let clock = Time(highest(Counter::Clock).unwrap_or_default());
    Counters {
        turn: highest(Counter::Turn).unwrap_or_default(),
        epoch: highest(Counter::Epoch).unwrap_or_default(),
        clock: clock.max(newest.unwrap_or_default()),
        by_shard,
    }
}

/// The running numbers of one shard: its own for what it makes, everybody's for time.
fn count(world: &mut World, shard: u16, all: &Counters) {
    world.counters = all.by_shard.get(usize::from(shard)).cloned().unwrap_or_default();
    let absent = world.dependents.iter().filter(|(target, _)| matches!(target, Target::Absent(_)));
    let absent: usize = absent.map(|(_, tasks)| tasks.len()).sum();
    let absent = i64::try_from(absent).unwrap_or(i64::MAX);
    for (counter, value) in [
        (Counter::Turn, all.turn),
        (Counter::Epoch, all.epoch),
        (Counter::Clock, all.clock.0),
        (Counter::Absent, absent),
    ] {
        if value != 0 || world.counters.contains_key(&counter) {
            world.counters.insert(counter, value);
        }
    }
}

impl Map {
    fn of(sources: &[World], place: impl Fn(&str) -> u16) -> Result<Self, StoreError> {
        let mut map = Self::default();
        for collection in sources.iter().flat_map(|w| w.collections.values()) {
            let shard = place(&collection.name);
            map.collections.insert(collection.id, shard);
            let mut name = String::new();
            escape_name(&mut name, &collection.name);
            map.names.insert(name, shard);
        }
        for world in sources {
            for flow in world.flows.values() {
                map.flows.insert(flow.id, map.collection(flow.collection)?);
            }
            for queue in world.queues.values() {
                map.queues.insert(queue.id, map.collection(queue.collection)?);
            }
            for item in world.items.values() {
                map.items.insert(item.id, map.collection(item.collection)?);
            }
            for body in world.bodies.values() {
                map.tasks.insert(body.id, map.item(body.item)?);
            }
            for batch in world.batches.values() {
                map.batches.insert(batch.id, map.collection(batch.collection)?);
            }
        }
        for hold in sources.iter().flat_map(|w| w.holds.values()) {
            map.holds.insert(hold.id, map.scope(hold.scope)?);
        }
        Ok(map)
    }

    fn collection(&self, id: CollectionId) -> Result<u16, StoreError> {
        self.collections.get(&id).copied().ok_or_else(|| lost("a collection", &id))
    }

    fn flow(&self, id: FlowId) -> Result<u16, StoreError> {
        self.flows.get(&id).copied().ok_or_else(|| lost("a flow", &id))
    }

    fn queue(&self, id: QueueId) -> Result<u16, StoreError> {
        self.queues.get(&id).copied().ok_or_else(|| lost("a queue", &id))
    }

    fn item(&self, id: ItemId) -> Result<u16, StoreError> {
        self.items.get(&id).copied().ok_or_else(|| lost("an item", &id))
    }

    fn task(&self, id: TaskId) -> Result<u16, StoreError> {
        self.tasks.get(&id).copied().ok_or_else(|| lost("a task", &id))
    }

    fn batch(&self, id: BatchId) -> Result<u16, StoreError> {
        self.batches.get(&id).copied().ok_or_else(|| lost("a batch", &id))
    }

    fn hold(&self, id: HoldId) -> Result<u16, StoreError> {
        self.holds.get(&id).copied().ok_or_else(|| lost("a hold", &id))
    }

    fn scope(&self, scope: Scope) -> Result<u16, StoreError> {
        match scope {
            Scope::Collection(id) => self.collection(id),
            Scope::Flow(id) => self.flow(id),
            Scope::Step(id) => self.queue(id),
            Scope::Batch(id) => self.batch(id),
            Scope::Item(id) => self.item(id),
            Scope::Task(id) => self.task(id),
        }
    }

    /// The key of a limit names its collection between `@` and `#`.
    fn limit(&self, key: &Text) -> Result<u16, StoreError> {
        let name = key.split_once('@').and_then(|(_, rest)| rest.split('#').next());
        name.and_then(|n| self.names.get(n)).copied().ok_or_else(|| lost("a limit", key))
    }

    fn made(&self, idem: &Idem) -> Result<u16, StoreError> {
        match idem.made {
            Made::Round(key, _) => self.item(key.item),
            Made::Event(item, _) | Made::Item(item) => self.item(item),
            Made::Batch(batch) => self.batch(batch),
            // A hold that was released is gone; what remembers it matters to nobody.
            Made::Hold(hold) => Ok(self.hold(hold).unwrap_or(0)),
        }
    }

    /// A lease over tasks of several collections: each shard judges what it holds of it.
    fn parted(&self, lease: Lease, home: u16) -> Result<BTreeMap<u16, Lease>, StoreError> {
        let bare = Lease { grips: Vec::new(), ..lease.clone() };
        if lease.grips.is_empty() {
            return Ok(BTreeMap::from([(home, bare)]));
        }
        let mut parts: BTreeMap<u16, Lease> = BTreeMap::new();
        for grip in lease.grips {
            let part = parts.entry(self.task(grip.task)?).or_insert_with(|| bare.clone());
            part.grips.push(grip);
        }
        Ok(parts)
    }

    fn errand(&self, errand: &Errand) -> Result<u16, StoreError> {
        match &errand.follow {
            Follow::Settled(task) | Follow::Bind(_, task) | Follow::Supersede(task) => {
                self.task(*task)
            }
            Follow::Wake(item, ..)
            | Follow::Rewound(item)
            | Follow::DeleteItem(item)
            | Follow::Reprioritise(item, _) => self.item(*item),
            Follow::Fill(flow, _) => self.flow(*flow),
            Follow::Release(hold) => self.hold(*hold),
            Follow::Report(batch)
            | Follow::CancelBatch(batch)
            | Follow::DeleteBatch(batch)
            | Follow::RetryBatch(batch) => self.batch(*batch),
        }
    }

    /// Gives the rows of one shard of the source to the shards of the target.
    // tidy: long because every table stands here once, and nothing else does.
    fn spread(&self, from: u16, source: World, to: &mut [World]) -> Result<(), StoreError> {
        macro_rules! each {
            ($($table:ident: |$key:ident, $row:ident| $shard:expr;)*) => {$(
                for ($key, $row) in source.$table {
                    let shard: u16 = $shard;
                    if let Some(world) = to.get_mut(usize::from(shard)) {
                        world.$table.insert($key, $row);
                    }
                }
            )*};
        }
        macro_rules! each_entry {
            ($($list:ident: |$owner:ident, $key:ident| $shard:expr;)*) => {$(
                for ($owner, rows) in source.$list {
                    for ($key, row) in rows {
                        let shard: u16 = $shard;
                        if let Some(world) = to.get_mut(usize::from(shard)) {
                            world.$list.entry($owner.clone()).or_default().insert($key, row);
                        }
                    }
                }
            )*};
        }
        // What belongs to no collection stays in the shard whose number it carries.
        let home = if usize::from(from) < to.len() { from } else { 0 };
        each! {
            collections: |key, row| self.collection(row.id)?;
            flows: |key, row| self.flow(row.id)?;
            queues: |key, row| self.queue(row.id)?;
            holds: |key, row| self.hold(row.id)?;
            schedules: |key, row| self.flow(row.flow)?;
            archives: |key, row| self.collection(key)?;
            counters: |key, row| home;
            keys: |key, row| 0;
            versions: |key, row| self.flow(row.flow)?;
            items: |key, row| self.item(row.id)?;
            marks: |key, row| self.item(key.0)?;
            bodies: |key, row| self.task(row.id)?;
            tasks: |key, row| self.task(row.id)?;
            rounds: |key, row| self.item(key.item)?;
            newest: |key, row| self.queue(key)?;
            slots: |key, row| self.limit(&key)?;
            batches: |key, row| self.batch(row.id)?;
            idems: |key, row| self.made(&row)?;
            manifests: |key, row| self.task(key.0)?;
        }
        each_entry! {
            ready: |owner, key| self.queue(owner)?;
            lines: |owner, key| self.task(key.task)?;
            timers: |owner, key| self.task(key.1)?;
            dependents: |owner, key| self.task(key)?;
            instances: |owner, key| self.queue(owner)?;
            held: |owner, key| self.task(key)?;
            members: |owner, key| self.batch(owner)?;
            letters: |owner, key| home;
        }
        for (id, lease) in source.leases {
            for (shard, part) in self.parted(lease, home)? {
                if let Some(world) = to.get_mut(usize::from(shard)) {
                    join(world, id, part);
                }
            }
        }
        for (owner, errands) in source.errands {
            for (id, errand) in errands {
                let shard = self.errand(&errand)?;
                if let Some(world) = to.get_mut(usize::from(shard)) {
                    world.errands.entry(owner).or_default().insert(id, errand);
                }
            }
        }
        if let Some(world) = to.get_mut(usize::from(home)) {
            for (key, destination) in source.destinations {
                let known = world.destinations.remove(&key);
                let merged = known.map_or_else(|| destination.clone(), |k| both(&k, &destination));
                world.destinations.insert(key, merged);
            }
        }
        Ok(())
    }
}

/// What was one lease before it was parted is one again where its parts meet.
fn join(world: &mut World, id: LeaseId, part: Lease) {
    match world.leases.entry(id) {
        Entry::Vacant(place) => drop(place.insert(part)),
        Entry::Occupied(mut lease) => lease.get_mut().grips.extend(part.grips),
    }
}

/// Two shards wrote to one destination: their letters are delivered one after another.
fn both(one: &Destination, other: &Destination) -> Destination {
    let due = [one.due_at, other.due_at].into_iter().flatten().min();
    Destination { next: one.next.max(other.next), tries: one.tries.max(other.tries), due_at: due }
}
