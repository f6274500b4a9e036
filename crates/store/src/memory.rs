//! The model: a store in memory, plain and obviously right.
//!
//! It is what the other stores are compared with, and what the simulator and quick tests run on.
//! Nothing survives the process.

mod database;
mod load;
mod read;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use armarius_core::event::Commit;
use armarius_core::ids::Time;
use armarius_core::view::{Need, View};
use armarius_engine::seam::{Description, Reader, Store, StoreError};

use crate::clock::Clock;
use crate::world::{Derived, World};

pub use database::Shards;

/// A store in memory. Clones of its content go out by [`Memory::dump`]; readers share it.
#[derive(Debug, Default)]
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Shared {
    world: World,
    derived: Derived,
}

impl Memory {
    /// An empty store on the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store on a given clock.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self { shared: Arc::default(), clock }
    }

    /// A store that already holds a world.
    #[must_use]
    pub fn holding(world: World, clock: Clock) -> Self {
        let derived = Derived::of(&world);
        Self { shared: Arc::new(Mutex::new(Shared { world, derived })), clock }
    }

    /// Everything it holds.
    #[must_use]
    pub fn dump(&self) -> World {
        lock(&self.shared).world.clone()
    }

    /// What it keeps as derived, for comparison with what follows from [`Memory::dump`].
    #[must_use]
    pub fn derived(&self) -> Derived {
        lock(&self.shared).derived.clone()
    }
}

impl Store for Memory {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        lock(&self.shared).refresh(view);
        Ok(self.clock.at_least(view))
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        lock(&self.shared).load(needs, view);
        Ok(())
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        let mut shared = lock(&self.shared);
        crate::order::follows(shared.world.head(), view, commit)?;
        shared.commit(view, commit);
        Ok(())
    }

    fn abandon(&mut self) {}

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(read::MemoryReader::new(Arc::clone(&self.shared))))
    }

    fn describe(&self) -> Description {
        Description {
            kind: "memory",
            place: "this process".to_owned(),
            sync: "none",
            promise: "an acknowledged change is lost when the process ends".to_owned(),
            page_bytes: 0,
            cache_bytes: 0,
        }
    }
}

impl Shared {
    fn commit(&mut self, view: &View, commit: &Commit) {
        let Self { world, derived } = self;
        // First everything old goes, then everything new comes: one row may take over the key that
        // another one of the same commit gives up.
        let old = |(key, _)| world.versions.get(key);
        view.versions.changes().filter_map(old).for_each(|v| derived.drop_version(v));
        let old = |(key, _)| world.items.get(key);
        view.items.changes().filter_map(old).for_each(|i| derived.drop_item(i));
        let old = |(key, _)| world.bodies.get(key);
        view.bodies.changes().filter_map(old).for_each(|b| derived.drop_body(b));
        let old = |(key, _)| world.leases.get(key);
        view.leases.changes().filter_map(old).for_each(|l| derived.drop_lease(l));
        let old = |(key, _)| world.destinations.get_key_value(key);
        view.destinations.changes().filter_map(old).for_each(|(k, d)| {
            derived.drop_destination(k, d);
        });

        world.apply(view, commit);

        view.versions.changes().filter_map(|c| c.1).for_each(|v| derived.note_version(v));
        view.items.changes().filter_map(|c| c.1).for_each(|i| derived.note_item(i));
        view.bodies.changes().filter_map(|c| c.1).for_each(|b| derived.note_body(b));
        view.leases.changes().filter_map(|c| c.1).for_each(|l| derived.note_lease(l));
        for (key, row) in view.destinations.changes() {
            row.into_iter().for_each(|d| derived.note_destination(key, d));
        }
        for ((item, name), row) in view.marks.changes() {
            derived.note_mark(*item, name, row.is_some());
        }
        for (target, task, edge) in view.dependents.changes() {
            derived.note_edge(target, *task, edge);
        }
    }
}

/// A panic elsewhere leaves whole commits only, so what is behind a poisoned lock is still good.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
