//! The read-only side of the model.

use std::sync::{Arc, Mutex};

use armarius_core::event::{Commit, Event, Outcome};
use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_core::rows::{Batch, Body, Item, Task};
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Reader, StoreError, TaskFilter};

use super::{Shared, lock};

/// Reads what is committed.
#[derive(Debug)]
pub(super) struct MemoryReader {
    shared: Arc<Mutex<Shared>>,
}

impl MemoryReader {
    pub(super) fn new(shared: Arc<Mutex<Shared>>) -> Self {
        Self { shared }
    }
}

impl Reader for MemoryReader {
    fn look(&mut self, needs: &[Need], view: &mut View, fresh: bool) -> Result<(), StoreError> {
        let shared = lock(&self.shared);
        if fresh {
            *view = View::new(view.shard);
            shared.refresh(view);
        }
        shared.load(needs, view);
        Ok(())
    }

    fn events(&mut self, item: ItemId, after: i64, max: usize) -> Result<Vec<Event>, StoreError> {
        let shared = lock(&self.shared);
        let from = (item, after.saturating_add(1));
        Ok(shared
            .world
            .events
            .range(from..=(item, i64::MAX))
            .take(max)
            .map(|e| e.1.clone())
            .collect())
    }

    fn head(&mut self) -> Result<CommitHead, StoreError> {
        Ok(lock(&self.shared).world.head())
    }

    fn commits(&mut self, after: i64, max: usize) -> Result<Vec<Commit>, StoreError> {
        let shared = lock(&self.shared);
        let from = after.saturating_add(1);
        Ok(shared.world.commits.range(from..).take(max).map(|c| c.1.clone()).collect())
    }

    fn tasks(&mut self, filter: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError> {
        let shared = lock(&self.shared);
        let below = filter.below.unwrap_or(TaskId(i64::MAX));
        let tasks = shared.world.tasks.range(..below).rev();
        let both = tasks.filter_map(|(id, task)| Some((shared.world.bodies.get(id)?, task)));
        let wanted = both.filter(|(body, task)| matches(filter, body, task));
        Ok(wanted.take(filter.max).map(|(b, t)| (b.clone(), t.clone())).collect())
    }

    fn items(
        &mut self,
        collection: CollectionId,
        after: ItemId,
        max: usize,
    ) -> Result<Vec<Item>, StoreError> {
        let shared = lock(&self.shared);
        let Some(ids) = shared.derived.collection_items.get(&collection) else {
            return Ok(Vec::new());
        };
        let after = ids.range(ItemId(after.0.saturating_add(1))..);
        let items = after.filter_map(|(id, ())| shared.world.items.get(id));
        Ok(items.take(max).cloned().collect())
    }

    fn marked(
        &mut self,
        (name, outcome): (&Name, Outcome),
        after: ItemId,
        max: usize,
    ) -> Result<Option<Vec<ItemId>>, StoreError> {
        let shared = lock(&self.shared);
        let marks = shared.world.marks.iter().filter(|((item, _), _)| *item > after);
        let found = marks.filter(|((_, n), mark)| n == name && mark.outcome == outcome);
        Ok(Some(found.map(|((item, _), _)| *item).take(max).collect()))
    }

    fn batches(&mut self, below: Option<BatchId>, max: usize) -> Result<Vec<Batch>, StoreError> {
        let shared = lock(&self.shared);
        let below = below.unwrap_or(BatchId(i64::MAX));
        Ok(shared.world.batches.range(..below).rev().take(max).map(|b| b.1.clone()).collect())
    }
}

fn matches(filter: &TaskFilter, body: &Body, task: &Task) -> bool {
    (filter.queues.is_empty() || filter.queues.contains(&body.queue))
        && (filter.states.is_empty() || filter.states.contains(&task.state))
        && filter.above.is_none_or(|above| above < body.id)
        && filter.item.is_none_or(|item| item == body.item)
        && filter.batch.is_none_or(|batch| Some(batch) == body.batch)
}
