//! The file in pieces, for those who move it elsewhere, and where things in it belong.

use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_engine::seam::StoreError;

use super::Sqlite;
use super::desk::Desk;
use super::dump;
use super::fault::Answer;
use crate::chain::Hashes;
use crate::world::{Basket, Piece, Take, World};

const OF_ITEM: &str = "select collection from item where id = ?1";
const OF_TASK: &str =
    "select item.collection from body join item on item.id = body.item where body.id = ?1";
const OF_BATCH: &str = "select collection from batch where id = ?1";
const HASH: &str = "select hash from event where item = ?1 and n = ?2";

impl Sqlite {
    /// Every row and every event, in pieces; the same pieces in the same order each time.
    pub(crate) fn rows_in(&self, piece: Piece, take: &mut Take<'_>) -> Result<(), StoreError> {
        let mut basket = Basket::new(piece, take);
        dump::rows(&self.desk, &mut basket)?;
        basket.hand_on()
    }

    /// Every commit, in order, in pieces.
    pub(crate) fn commits_in(&self, piece: Piece, take: &mut Take<'_>) -> Result<(), StoreError> {
        let mut basket = Basket::new(piece, take);
        dump::commits(&self.desk, &mut basket)?;
        basket.hand_on()
    }

    /// What is small and defines the rest.
    pub(crate) fn definitions(&self) -> Result<World, StoreError> {
        let mut world = World::default();
        {
            let mut take = |whole| {
                world = whole;
                Ok(())
            };
            let mut basket = Basket::new(Piece::WHOLE, &mut take);
            dump::definitions(&self.desk, &mut basket)?;
            basket.hand_on()?;
        }
        Ok(world)
    }

    /// The collections of items that are there.
    pub(crate) fn of_items(
        &self,
        ids: &[ItemId],
    ) -> Result<Vec<(ItemId, CollectionId)>, StoreError> {
        homes(&self.desk, OF_ITEM, ids, |id| id.0)
    }

    /// The collections of tasks whose bodies are there.
    pub(crate) fn of_tasks(
        &self,
        ids: &[TaskId],
    ) -> Result<Vec<(TaskId, CollectionId)>, StoreError> {
        homes(&self.desk, OF_TASK, ids, |id| id.0)
    }

    /// The collections of batches that are there.
    pub(crate) fn of_batches(
        &self,
        ids: &[BatchId],
    ) -> Result<Vec<(BatchId, CollectionId)>, StoreError> {
        homes(&self.desk, OF_BATCH, ids, |id| id.0)
    }

    /// The hashes of events that are there.
    pub(crate) fn hashes_of(&self, refs: &[(ItemId, i64)]) -> Result<Hashes, StoreError> {
        let mut found = Hashes::with_capacity(refs.len());
        for (item, n) in refs {
            let hash = self.desk.first("event", HASH, (item.0, n), |cells| cells.hash(0))?;
            found.extend(hash.map(|hash| ((*item, *n), hash)));
        }
        Ok(found)
    }
}

fn homes<K: Copy>(
    desk: &Desk,
    sql: &'static str,
    ids: &[K],
    number: impl Fn(K) -> i64,
) -> Answer<Vec<(K, CollectionId)>> {
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let home = desk.first("collection", sql, (number(*id),), |cells| cells.int(0))?;
        found.extend(home.map(|home| (*id, CollectionId(home))));
    }
    Ok(found)
}
