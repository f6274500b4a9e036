//! A shard in pieces, for those who move it elsewhere, and where things in it belong.

use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_core::view::{Need, View};
use armarius_engine::seam::StoreError;

use super::cells::Cells;
use super::database::Database;
use super::desk::{Desk, Mode};
use super::dump;
use super::fault::Answer;
use super::load;
use super::table::Table;
use super::wire::{Grid, Kind};
use crate::chain::Hashes;
use crate::world::{Basket, Piece, Take, World};

const OF_ITEMS: &str = "select t.id, t.collection from unnest($2::bigint[]) as k(id)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.id, t.collection from item as t
                        where t.shard = s.shard and t.id = k.id limit 1) as t";
const OF_TASKS: &str = "select t.id, t.collection from unnest($2::bigint[]) as k(id)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select b.id, i.collection from body as b
                        join item as i on i.shard = b.shard and i.id = b.item
                        where b.shard = s.shard and b.id = k.id limit 1) as t";
const OF_BATCHES: &str = "select t.id, t.collection from unnest($2::bigint[]) as k(id)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.id, t.collection from batch as t
                        where t.shard = s.shard and t.id = k.id limit 1) as t";
static HOME: Table = Table::new("collection", 1, 0, &[("id", Kind::I8), ("collection", Kind::I8)]);
const HASHES: &str =
    "select t.item, t.n, t.hash from unnest($2::bigint[], $3::bigint[]) as k(item, n)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.item, t.n, t.hash from event as t
                        where t.shard = s.shard and t.item = k.item and t.n = k.n limit 1) as t";
static HASH: Table =
    Table::new("event", 2, 0, &[("item", Kind::I8), ("n", Kind::I8), ("hash", Kind::Bytes)]);

impl Database {
    /// Every row and every event of a shard, in pieces; the same pieces in the same order each
    /// time.
    pub(crate) fn rows_in(
        &self,
        shard: u16,
        piece: Piece,
        take: &mut Take<'_>,
    ) -> Result<(), StoreError> {
        dump::rows(&mut self.desk(shard), &mut Basket::new(piece, take))
    }

    /// Every commit of a shard, in order, in pieces.
    pub(crate) fn commits_in(
        &self,
        shard: u16,
        piece: Piece,
        take: &mut Take<'_>,
    ) -> Result<(), StoreError> {
        dump::commits(&mut self.desk(shard), &mut Basket::new(piece, take))
    }

    /// What is small and defines the rest of a shard.
    pub(crate) fn definitions(&self, shard: u16) -> Result<World, StoreError> {
        let mut world = World::default();
        {
            let mut take = |whole| {
                world = whole;
                Ok(())
            };
            dump::definitions(&mut self.desk(shard), &mut Basket::new(Piece::WHOLE, &mut take))?;
        }
        Ok(world)
    }

    /// The collections of items that are there.
    pub(crate) fn of_items(
        &self,
        shard: u16,
        ids: &[ItemId],
    ) -> Result<Vec<(ItemId, CollectionId)>, StoreError> {
        homes(&mut self.desk(shard), OF_ITEMS, ids.iter().map(|id| id.0), ItemId)
    }

    /// The collections of tasks whose bodies are there.
    pub(crate) fn of_tasks(
        &self,
        shard: u16,
        ids: &[TaskId],
    ) -> Result<Vec<(TaskId, CollectionId)>, StoreError> {
        homes(&mut self.desk(shard), OF_TASKS, ids.iter().map(|id| id.0), TaskId)
    }

    /// The collections of batches that are there.
    pub(crate) fn of_batches(
        &self,
        shard: u16,
        ids: &[BatchId],
    ) -> Result<Vec<(BatchId, CollectionId)>, StoreError> {
        homes(&mut self.desk(shard), OF_BATCHES, ids.iter().map(|id| id.0), BatchId)
    }

    /// The hashes of events that are there.
    pub(crate) fn hashes_of(
        &self,
        shard: u16,
        refs: &[(ItemId, i64)],
    ) -> Result<Hashes, StoreError> {
        let mut keys = Grid::new([Kind::I8, Kind::I8]);
        for (item, n) in refs {
            keys.push(&[item.0.into(), (*n).into()])?;
        }
        let found = ask(&mut self.desk(shard), keys, HASHES, &HASH, |cells| {
            Ok(((ItemId(cells.int(0)?), cells.int(1)?), cells.hash(2)?))
        });
        Ok(found?.into_iter().collect())
    }

    /// Some rows of a shard, by key.
    pub(crate) fn some(&self, shard: u16, needs: &[Need]) -> Result<View, StoreError> {
        let (mut desk, mut view) = (self.desk(shard), View::new(shard));
        desk.begin(Mode::Read, |_| Ok(()))?;
        load::load(&mut desk, needs, &mut view)?;
        desk.abandon();
        Ok(view)
    }
}

fn homes<K>(
    desk: &mut Desk,
    sql: &'static str,
    ids: impl Iterator<Item = i64>,
    number: impl Fn(i64) -> K,
) -> Answer<Vec<(K, CollectionId)>> {
    let mut keys = Grid::new([Kind::I8]);
    for id in ids {
        keys.push(&[id.into()])?;
    }
    ask(desk, keys, sql, &HOME, |cells| Ok((number(cells.int(0)?), CollectionId(cells.int(1)?))))
}

fn ask<R>(
    desk: &mut Desk,
    keys: Grid,
    sql: &'static str,
    table: &'static Table,
    read: impl Fn(&Cells<'_>) -> Answer<R>,
) -> Answer<Vec<R>> {
    if keys.len() == 0 {
        return Ok(Vec::new());
    }
    desk.begin(Mode::Read, |_| Ok(()))?;
    let mut script = desk.ask_shards()?;
    script.with_grid(keys)?.ask(sql)?;
    let rows = desk.rows(script, &[])?;
    desk.abandon();
    rows.iter().map(|row| read(&Cells::new(&desk.words, table, row))).collect()
}
