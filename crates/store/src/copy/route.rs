//! Which row goes where. What a row belongs to is looked up piece by piece; only collections,
//! flows, queues and holds are kept in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use armarius_core::address::escape_name;
use armarius_core::ids::{BatchId, CollectionId, FlowId, HoldId, ItemId, LeaseId, QueueId, TaskId};
use armarius_core::rows::{Destination, Errand, Follow, Idem, Lease, Made, Scope};
use armarius_core::text::Text;
use armarius_core::view::Need;
use armarius_engine::seam::StoreError;

use super::source::Source;
use crate::world::World;

/// Where things of the source go.
pub(super) struct Map {
    /// Shards of the target. Where there is only one nothing has to be looked up.
    shards: u16,
    collections: HashMap<CollectionId, u16>,
    names: HashMap<String, u16>,
    flows: HashMap<FlowId, u16>,
    queues: HashMap<QueueId, u16>,
    holds: HashMap<HoldId, u16>,
    /// What the piece at hand refers to.
    items: HashMap<ItemId, u16>,
    tasks: HashMap<TaskId, u16>,
    batches: HashMap<BatchId, u16>,
}

/// Things that rows belong to.
#[derive(Default)]
struct Owners {
    items: BTreeSet<ItemId>,
    tasks: BTreeSet<TaskId>,
    batches: BTreeSet<BatchId>,
}

pub(super) fn lost(what: &str, which: &dyn std::fmt::Debug) -> StoreError {
    StoreError::Corrupt(format!("{what} leads nowhere: {which:?}; run `armarius doctor`"))
}

impl Map {
    /// From the definitions of each shard of the source.
    pub(super) fn of(
        source: &Source,
        definitions: &[World],
        shards: u16,
        place: impl Fn(&str) -> u16,
    ) -> Result<Self, StoreError> {
        let mut map = Self {
            shards,
            collections: HashMap::new(),
            names: HashMap::new(),
            flows: HashMap::new(),
            queues: HashMap::new(),
            holds: HashMap::new(),
            items: HashMap::new(),
            tasks: HashMap::new(),
            batches: HashMap::new(),
        };
        for collection in definitions.iter().flat_map(|w| w.collections.values()) {
            let shard = place(&collection.name);
            map.collections.insert(collection.id, shard);
            let mut name = String::new();
            escape_name(&mut name, &collection.name);
            map.names.insert(name, shard);
        }
        for (from, world) in (0..).zip(definitions) {
            for flow in world.flows.values() {
                map.flows.insert(flow.id, map.collection(flow.collection)?);
            }
            for queue in world.queues.values() {
                map.queues.insert(queue.id, map.collection(queue.collection)?);
            }
            let mut owners = Owners::default();
            world.holds.values().for_each(|hold| owners.of_scope(hold.scope));
            map.learn(source, from, owners)?;
            for hold in world.holds.values() {
                map.holds.insert(hold.id, map.scope(hold.scope)?);
            }
        }
        Ok(map)
    }

    /// Learns where these items go, and forgets everything else.
    pub(super) fn learn_items(
        &mut self,
        source: &Source,
        from: u16,
        items: impl Iterator<Item = ItemId>,
    ) -> Result<(), StoreError> {
        self.learn(source, from, Owners { items: items.collect(), ..Owners::default() })
    }

    /// Learns what a piece refers to, and forgets what the one before did.
    fn learn(&mut self, source: &Source, from: u16, owners: Owners) -> Result<(), StoreError> {
        self.items.clear();
        self.tasks.clear();
        self.batches.clear();
        if self.shards == 1 {
            return Ok(());
        }
        for (item, home) in source.of_items(from, &Vec::from_iter(owners.items))? {
            self.items.insert(item, self.collection(home)?);
        }
        for (batch, home) in source.of_batches(from, &Vec::from_iter(owners.batches))? {
            self.batches.insert(batch, self.collection(home)?);
        }
        self.learn_tasks(source, from, owners.tasks)
    }

    fn learn_tasks(
        &mut self,
        source: &Source,
        from: u16,
        tasks: BTreeSet<TaskId>,
    ) -> Result<(), StoreError> {
        if self.shards == 1 {
            return Ok(());
        }
        for (task, home) in source.of_tasks(from, &Vec::from_iter(tasks))? {
            self.tasks.insert(task, self.collection(home)?);
        }
        Ok(())
    }

    /// Gives the rows of a piece to the shards of the target.
    pub(super) fn spread(
        &mut self,
        source: &Source,
        from: u16,
        mut piece: World,
    ) -> Result<Vec<World>, StoreError> {
        self.learn(source, from, Owners::of(&piece))?;
        let leases = std::mem::take(&mut piece.leases);
        let leases = self.joined_leases(source, from, leases)?;
        let destinations = std::mem::take(&mut piece.destinations);
        let destinations = self.joined_destinations(source, from, destinations)?;
        let mut to: Vec<World> = (0..self.shards).map(|_| World::default()).collect();
        let home = self.home(from);
        for (id, lease) in leases {
            for (shard, part) in self.parted(lease, home)? {
                if let Some(world) = to.get_mut(usize::from(shard)) {
                    world.leases.insert(id, part);
                }
            }
        }
        if let Some(world) = to.get_mut(usize::from(home)) {
            world.destinations = destinations;
        }
        self.rows(home, piece, &mut to)?;
        Ok(to)
    }

    /// What belongs to no collection stays in the shard whose number it carries.
    fn home(&self, from: u16) -> u16 {
        if from < self.shards { from } else { 0 }
    }

    /// A lease over tasks of several collections may have parts in several shards of the source.
    /// The first of them brings them all; the others bring nothing.
    fn joined_leases(
        &mut self,
        source: &Source,
        from: u16,
        mut leases: BTreeMap<LeaseId, Lease>,
    ) -> Result<BTreeMap<LeaseId, Lease>, StoreError> {
        if leases.is_empty() {
            return Ok(leases);
        }
        let needs: Vec<Need> = leases.keys().map(|id| Need::Lease(*id)).collect();
        for other in (0..source.shards()).filter(|other| *other != from) {
            let Some(view) = source.some(other, &needs)? else { continue };
            let found = view.leases.iter().map(|(id, lease)| (*id, lease.clone()));
            for (id, part) in Vec::from_iter(found) {
                if other < from {
                    leases.remove(&id);
                } else if let Some(lease) = leases.get_mut(&id) {
                    let tasks = part.grips.iter().map(|grip| grip.task).collect();
                    self.learn_tasks(source, other, tasks)?;
                    lease.grips.extend(part.grips);
                }
            }
        }
        Ok(leases)
    }

    /// Shards that wrote to one destination and end in the same shard: their letters are delivered
    /// one after another.
    fn joined_destinations(
        &self,
        source: &Source,
        from: u16,
        mut destinations: BTreeMap<Text, Destination>,
    ) -> Result<BTreeMap<Text, Destination>, StoreError> {
        if destinations.is_empty() {
            return Ok(destinations);
        }
        let needs: Vec<Need> = destinations.keys().cloned().map(Need::Destination).collect();
        let home = self.home(from);
        let others = (0..source.shards()).filter(|o| *o != from && self.home(*o) == home);
        for other in others {
            let Some(view) = source.some(other, &needs)? else { continue };
            for (key, part) in view.destinations.iter() {
                if other < from {
                    destinations.remove(key);
                } else if let Some(known) = destinations.get_mut(key) {
                    *known = both(known, part);
                }
            }
        }
        Ok(destinations)
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

    pub(super) fn item(&self, id: ItemId) -> Result<u16, StoreError> {
        if self.shards == 1 {
            return Ok(0);
        }
        self.items.get(&id).copied().ok_or_else(|| lost("an item", &id))
    }

    fn task(&self, id: TaskId) -> Result<u16, StoreError> {
        if self.shards == 1 {
            return Ok(0);
        }
        self.tasks.get(&id).copied().ok_or_else(|| lost("a task", &id))
    }

    fn batch(&self, id: BatchId) -> Result<u16, StoreError> {
        if self.shards == 1 {
            return Ok(0);
        }
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

    /// Every table but leases and destinations. Running numbers and commits are made anew.
    // tidy: long because every table stands here once, and nothing else does.
    fn rows(&self, home: u16, piece: World, to: &mut [World]) -> Result<(), StoreError> {
        macro_rules! each {
            ($($table:ident: |$key:ident, $row:ident| $shard:expr;)*) => {$(
                for ($key, $row) in piece.$table {
                    let shard: u16 = $shard;
                    if let Some(world) = to.get_mut(usize::from(shard)) {
                        world.$table.insert($key, $row);
                    }
                }
            )*};
        }
        macro_rules! each_entry {
            ($($list:ident: |$owner:ident, $key:ident| $shard:expr;)*) => {$(
                for ($owner, rows) in piece.$list {
                    for ($key, row) in rows {
                        let shard: u16 = $shard;
                        if let Some(world) = to.get_mut(usize::from(shard)) {
                            world.$list.entry($owner.clone()).or_default().insert($key, row);
                        }
                    }
                }
            )*};
        }
        each! {
            collections: |key, row| self.collection(row.id)?;
            flows: |key, row| self.flow(row.id)?;
            queues: |key, row| self.queue(row.id)?;
            holds: |key, row| self.hold(row.id)?;
            schedules: |key, row| self.flow(row.flow)?;
            archives: |key, row| self.collection(key)?;
            keys: |key, row| 0;
            versions: |key, row| self.flow(row.flow)?;
            items: |key, row| self.collection(row.collection)?;
            marks: |key, row| self.item(key.0)?;
            bodies: |key, row| self.item(row.item)?;
            tasks: |key, row| self.task(row.id)?;
            rounds: |key, row| self.item(key.item)?;
            newest: |key, row| self.queue(key)?;
            slots: |key, row| self.limit(&key)?;
            batches: |key, row| self.collection(row.collection)?;
            idems: |key, row| self.made(&row)?;
            manifests: |key, row| self.task(key.0)?;
            events: |key, row| self.item(row.item)?;
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
        for (owner, errands) in piece.errands {
            for (id, errand) in errands {
                let shard = self.errand(&errand)?;
                if let Some(world) = to.get_mut(usize::from(shard)) {
                    world.errands.entry(owner).or_default().insert(id, errand);
                }
            }
        }
        Ok(())
    }
}

impl Owners {
    /// What the rows of a piece belong to, where they do not say their collection.
    fn of(piece: &World) -> Self {
        let mut owners = Self::default();
        owners.items.extend(piece.marks.keys().map(|(item, _)| *item));
        owners.items.extend(piece.bodies.values().map(|body| body.item));
        owners.items.extend(piece.rounds.keys().map(|key| key.item));
        owners.items.extend(piece.events.keys().map(|(item, _)| *item));
        owners.tasks.extend(piece.tasks.keys());
        owners.tasks.extend(piece.manifests.keys().map(|(task, _)| *task));
        owners.tasks.extend(piece.lines.values().flatten().map(|(rank, ())| rank.task));
        owners.tasks.extend(piece.timers.values().flatten().map(|((_, task), ())| *task));
        owners.tasks.extend(piece.dependents.values().flatten().map(|(task, _)| *task));
        owners.tasks.extend(piece.held.values().flatten().map(|(task, ())| *task));
        owners.tasks.extend(piece.leases.values().flat_map(|l| l.grips.iter().map(|g| g.task)));
        owners.batches.extend(piece.members.keys());
        piece.idems.values().for_each(|idem| owners.of_made(idem.made));
        piece.errands.values().flatten().for_each(|(_, e)| owners.of_follow(&e.follow));
        owners
    }

    fn of_scope(&mut self, scope: Scope) {
        match scope {
            Scope::Collection(_) | Scope::Flow(_) | Scope::Step(_) => {}
            Scope::Batch(id) => drop(self.batches.insert(id)),
            Scope::Item(id) => drop(self.items.insert(id)),
            Scope::Task(id) => drop(self.tasks.insert(id)),
        }
    }

    fn of_made(&mut self, made: Made) {
        match made {
            Made::Round(key, _) => drop(self.items.insert(key.item)),
            Made::Event(item, _) | Made::Item(item) => drop(self.items.insert(item)),
            Made::Batch(batch) => drop(self.batches.insert(batch)),
            Made::Hold(_) => {}
        }
    }

    fn of_follow(&mut self, follow: &Follow) {
        match follow {
            Follow::Settled(task) | Follow::Bind(_, task) | Follow::Supersede(task) => {
                self.tasks.insert(*task);
            }
            Follow::Wake(item, ..)
            | Follow::Rewound(item)
            | Follow::DeleteItem(item)
            | Follow::Reprioritise(item, _) => {
                self.items.insert(*item);
            }
            Follow::Fill(..) | Follow::Release(_) => {}
            Follow::Report(batch)
            | Follow::CancelBatch(batch)
            | Follow::DeleteBatch(batch)
            | Follow::RetryBatch(batch) => {
                self.batches.insert(*batch);
            }
        }
    }
}

/// Two shards wrote to one destination: their letters are delivered one after another.
fn both(one: &Destination, other: &Destination) -> Destination {
    let due = [one.due_at, other.due_at].into_iter().flatten().min();
    Destination { next: one.next.max(other.next), tries: one.tries.max(other.tries), due_at: due }
}
