//! Writes what a view has changed into a script.

use std::fmt::Debug;
use std::hash::Hash;

use armarius_core::text::Name;
use armarius_core::view::{self, Ranged};

use super::fault::Answer;
use super::table::Table;
use super::wire::{Cell, Grid, Script};
use super::words::Words;

/// A script in the making, for one shard.
pub(super) struct Pen<'w> {
    pub(super) shard: u16,
    pub(super) words: &'w Words,
    pub(super) script: Script,
    /// Overwrites that may have met no row.
    pub(super) owed: Vec<Owed>,
}

/// Rows that were to be overwritten by a statement; those that were not there are added then.
pub(super) struct Owed {
    pub(super) ask: usize,
    pub(super) table: &'static Table,
    pub(super) rows: Grid,
}

impl<'w> Pen<'w> {
    pub(super) fn new(shard: u16, words: &'w Words) -> Self {
        Self { shard, words, script: Script::default(), owed: Vec::new() }
    }

    /// The number of a name.
    pub(super) fn word(&self, name: &Name) -> Answer<i64> {
        self.words.id(name)
    }

    /// Writes what changed in a table. Deletes come first: a new row may take over the key that an
    /// old one gives up.
    pub(super) fn keep<'v, K, R, const N: usize, const M: usize>(
        &mut self,
        table: &'static Table,
        rows: &'v view::Table<K, R>,
        key: impl Fn(&'v K) -> Answer<[Cell<'v>; N]>,
        row: impl Fn(&'v K, &'v R) -> Answer<[Cell<'v>; M]>,
    ) -> Answer<()>
    where
        K: Ord + Hash + Clone + Debug,
    {
        if rows.dirty_len() == 0 {
            return Ok(());
        }
        self.delete(table, rows, key)?;
        let mut grid = table.grid();
        for (k, r) in sorted(rows) {
            if let Some(r) = r {
                grid.push(&row(k, r)?)?;
            }
        }
        table.put(&mut self.script, self.shard, grid)?;
        Ok(())
    }

    /// Removes what a table does not have any more.
    pub(super) fn delete<'v, K, R, const N: usize>(
        &mut self,
        table: &'static Table,
        rows: &'v view::Table<K, R>,
        key: impl Fn(&'v K) -> Answer<[Cell<'v>; N]>,
    ) -> Answer<()>
    where
        K: Ord + Hash + Clone + Debug,
    {
        let mut gone = table.key_grid();
        for (k, r) in rows.changes() {
            if r.is_none() {
                gone.push(&key(k)?)?;
            }
        }
        table.delete(&mut self.script, self.shard, gone)?;
        Ok(())
    }

    /// Writes rows of a large table: those that cannot be there yet are copied in, the others
    /// overwritten, and added if that met nothing.
    pub(super) fn keep_large<'v, K, R, const N: usize, const M: usize>(
        &mut self,
        table: &'static Table,
        rows: &'v view::Table<K, R>,
        is_new: impl Fn(&K) -> bool,
        key: impl Fn(&'v K) -> Answer<[Cell<'v>; N]>,
        row: impl Fn(&'v K, &'v R) -> Answer<[Cell<'v>; M]>,
    ) -> Answer<()>
    where
        K: Ord + Hash + Clone + Debug,
    {
        if rows.dirty_len() == 0 {
            return Ok(());
        }
        self.delete(table, rows, key)?;
        let (mut fresh, mut old) = (table.fresh(), table.grid());
        for (k, r) in sorted(rows) {
            let Some(r) = r else { continue };
            if is_new(k) {
                fresh.push(self.shard, &row(k, r)?)?;
            } else {
                old.push(&row(k, r)?)?;
            }
        }
        table.copy(&mut self.script, fresh)?;
        self.put_or_add(table, old)
    }

    /// Overwrites rows, and adds those that were not there.
    pub(super) fn put_or_add(&mut self, table: &'static Table, rows: Grid) -> Answer<()> {
        if rows.len() > 0 {
            let ask = self.script.len();
            self.owed.push(Owed { ask, table, rows: rows.clone() });
            table.update(&mut self.script, self.shard, rows)?;
        }
        Ok(())
    }

    /// Writes what changed in a list.
    pub(super) fn keep_list<'v, O, K, R, const N: usize, const M: usize>(
        &mut self,
        table: &'static Table,
        list: &'v Ranged<O, K, R>,
        key: impl Fn(&'v O, &'v K) -> Answer<[Cell<'v>; N]>,
        row: impl Fn(&'v O, &'v K, &'v R) -> Answer<[Cell<'v>; M]>,
    ) -> Answer<()>
    where
        O: Ord + Clone + 'v,
        K: Ord + Clone + 'v,
        R: Clone + 'v,
    {
        self.keep_long_list(table, list, |_| false, key, row)
    }

    /// Writes what changed in a list that much is put into: entries that cannot be there yet are
    /// copied in.
    pub(super) fn keep_long_list<'v, O, K, R, const N: usize, const M: usize>(
        &mut self,
        table: &'static Table,
        list: &'v Ranged<O, K, R>,
        is_new: impl Fn(&K) -> bool,
        key: impl Fn(&'v O, &'v K) -> Answer<[Cell<'v>; N]>,
        row: impl Fn(&'v O, &'v K, &'v R) -> Answer<[Cell<'v>; M]>,
    ) -> Answer<()>
    where
        O: Ord + Clone + 'v,
        K: Ord + Clone + 'v,
        R: Clone + 'v,
    {
        if list.dirty_len() == 0 {
            return Ok(());
        }
        let (mut gone, mut fresh, mut grid) = (table.key_grid(), table.fresh(), table.grid());
        for (o, k, r) in list.changes() {
            match r {
                Some(r) if is_new(k) => fresh.push(self.shard, &row(o, k, r)?)?,
                Some(r) => grid.push(&row(o, k, r)?)?,
                None => gone.push(&key(o, k)?)?,
            }
        }
        table.delete(&mut self.script, self.shard, gone)?;
        table.copy(&mut self.script, fresh)?;
        // A list whose entries have no content never overwrites: what is there already is right.
        if table.key == table.columns.len() {
            table.add_missing(&mut self.script, self.shard, grid)?;
        } else {
            table.put(&mut self.script, self.shard, grid)?;
        }
        Ok(())
    }
}

/// What changed, in the order of the keys, so that neighbours are touched together.
fn sorted<K: Ord + Hash + Clone, R>(rows: &view::Table<K, R>) -> Vec<(&K, Option<&R>)> {
    let mut changes: Vec<(&K, Option<&R>)> = rows.changes().collect();
    changes.sort_unstable_by(|a, b| a.0.cmp(b.0));
    changes
}
