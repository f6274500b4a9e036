//! The read-only sides of several shards as one, for a database that has no better way.
//!
//! Every shard is asked for everything: right, and slow. Each shard's picture is consistent;
//! between shards there is no common moment, as there is none between their commits.

use std::fmt;

use armarius_core::event::{Commit, Event, digest};
use armarius_core::ids::{BatchId, CollectionId, ItemId};
use armarius_core::rows::{Batch, Body, Item, Task};
use armarius_core::view::{CommitHead, Need, View};

use crate::seam::{Reader, StoreError, TaskFilter};

/// One reader per shard, in order.
pub struct Wide(Vec<Box<dyn Reader>>);

impl Wide {
    /// Reads all of these.
    #[must_use]
    pub fn new(shards: Vec<Box<dyn Reader>>) -> Self {
        Self(shards)
    }

    /// What all of them have, one after the other.
    fn all<T>(
        &mut self,
        mut ask: impl FnMut(&mut dyn Reader) -> Result<Vec<T>, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        for reader in &mut self.0 {
            found.extend(ask(reader.as_mut())?);
        }
        Ok(found)
    }
}

impl Reader for Wide {
    fn look(&mut self, needs: &[Need], view: &mut View, fresh: bool) -> Result<(), StoreError> {
        let mut sheets = Vec::with_capacity(self.0.len());
        for (shard, reader) in (0..).zip(&mut self.0) {
            let mut sheet = View::new(shard);
            reader.look(needs, &mut sheet, fresh)?;
            sheets.push(sheet);
        }
        if fresh {
            *view = View::new(view.shard);
        }
        view.gather(needs, &sheets, fresh);
        Ok(())
    }

    fn events(&mut self, item: ItemId, after: i64, max: usize) -> Result<Vec<Event>, StoreError> {
        self.all(|reader| reader.events(item, after, max))
    }

    /// Differs whenever that of any shard does.
    fn head(&mut self) -> Result<CommitHead, StoreError> {
        let mut n = 0;
        let mut seals = String::new();
        for reader in &mut self.0 {
            let head = reader.head()?;
            n += head.n;
            seals.push_str(&format!("{:?} ", head.seal));
        }
        Ok(CommitHead { n, seal: digest(&seals) })
    }

    fn commits(&mut self, _: i64, _: usize) -> Result<Vec<Commit>, StoreError> {
        Err(StoreError::Unavailable(
            "each shard has commits of its own: ask one of them".to_owned(),
        ))
    }

    fn tasks(&mut self, filter: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError> {
        let mut found = self.all(|reader| reader.tasks(filter))?;
        found.sort_by_key(|(body, _)| std::cmp::Reverse(body.id));
        found.truncate(filter.max);
        Ok(found)
    }

    fn items(
        &mut self,
        collection: CollectionId,
        after: ItemId,
        max: usize,
    ) -> Result<Vec<Item>, StoreError> {
        self.all(|reader| reader.items(collection, after, max))
    }

    fn batches(&mut self, below: Option<BatchId>, max: usize) -> Result<Vec<Batch>, StoreError> {
        let mut found = self.all(|reader| reader.batches(below, max))?;
        found.sort_by_key(|batch| std::cmp::Reverse(batch.id));
        found.truncate(max);
        Ok(found)
    }
}

impl fmt::Debug for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wide({})", self.0.len())
    }
}
