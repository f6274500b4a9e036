//! A connection with its words, and the few ways rows move over it.
//!
//! Statements are prepared once and kept by the connection; each way takes its statement once and
//! uses it for all rows it moves, in the order of their keys, so that neighbours are touched
//! together.

use std::fmt::Debug;

use armarius_core::text::Name;
use armarius_core::view::{Ranged, Table};
use rusqlite::{CachedStatement, Connection, Params};

use super::cells::Cells;
use super::fault::{Answer, OrFault as _, corrupt};
use super::words::Words;

/// From so many on, neighbours are read in one go.
const NEAR_MIN: usize = 32;
/// The largest mean step between them.
const NEAR_STEP_MAX: usize = 4;

/// A connection with its words.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) conn: Connection,
    pub(super) words: Words,
}

/// The two statements that change a table.
pub(super) struct Sql {
    pub(super) table: &'static str,
    pub(super) put: &'static str,
    pub(super) delete: &'static str,
}

impl Desk {
    pub(super) fn new(conn: Connection) -> Self {
        Self { conn, words: Words::default() }
    }

    /// A statement, prepared at its first use.
    pub(super) fn prepare(&self, sql: &'static str) -> Answer<CachedStatement<'_>> {
        self.conn.prepare_cached(sql).or_fault()
    }

    /// Runs a statement that returns nothing; says how many rows it changed.
    pub(super) fn run(&self, sql: &'static str, params: impl Params) -> Answer<usize> {
        self.prepare(sql)?.execute(params).or_fault()
    }

    /// The number of a name, made if there is none.
    pub(super) fn word(&self, name: &Name) -> Answer<i64> {
        self.words.number(&self.conn, name)
    }

    /// The number of a name, if it has one.
    pub(super) fn known_word(&self, name: &Name) -> Answer<Option<i64>> {
        self.words.find(&self.conn, name)
    }

    /// The name of a number.
    pub(super) fn name(&self, id: i64) -> Answer<Name> {
        self.words.name(&self.conn, id)
    }

    /// The first row of an answer.
    pub(super) fn first<R>(
        &self,
        table: &'static str,
        sql: &'static str,
        params: impl Params,
        read: impl Fn(&Cells<'_>) -> Answer<R>,
    ) -> Answer<Option<R>> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params).or_fault()?;
        let row = rows.next().or_fault()?;
        row.map(|row| read(&Cells::new(self, table, row))).transpose()
    }

    /// Every row of an answer, one after another.
    pub(super) fn each(
        &self,
        table: &'static str,
        sql: &'static str,
        params: impl Params,
        mut take: impl FnMut(&Cells<'_>) -> Answer<()>,
    ) -> Answer<()> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params).or_fault()?;
        while let Some(row) = rows.next().or_fault()? {
            take(&Cells::new(self, table, row))?;
        }
        Ok(())
    }

    /// Every row of an answer.
    pub(super) fn all<R>(
        &self,
        table: &'static str,
        sql: &'static str,
        params: impl Params,
        read: impl Fn(&Cells<'_>) -> Answer<R>,
    ) -> Answer<Vec<R>> {
        let mut out = Vec::new();
        self.each(table, sql, params, |cells| {
            out.push(read(cells)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// Looks up each key and notes the row, or its absence. A key for which `bind` gives nothing
    /// cannot have a row.
    pub(super) fn find<'k, K, R, P>(
        &self,
        (table, sql): (&'static str, &'static str),
        keys: &'k [K],
        note: &mut Table<K, R>,
        bind: impl Fn(&'k K) -> Answer<Option<P>>,
        read: impl Fn(&Cells<'_>) -> Answer<R>,
    ) -> Answer<()>
    where
        K: Ord + std::hash::Hash + Clone,
        P: Params,
    {
        if keys.is_empty() {
            return Ok(());
        }
        let mut statement = self.prepare(sql)?;
        for key in keys {
            let row = match bind(key)? {
                None => None,
                Some(params) => {
                    let mut rows = statement.query(params).or_fault()?;
                    let row = rows.next().or_fault()?;
                    row.map(|row| read(&Cells::new(self, table, row))).transpose()?
                }
            };
            note.load(key.clone(), row);
        }
        Ok(())
    }

    /// As [`Desk::find`], for rows that stand in the order of these keys: many neighbours are read
    /// in one go. `between` reads everything from its first to its second parameter, key first.
    pub(super) fn find_near<K, R>(
        &self,
        (table, one, between): (&'static str, &'static str, &'static str),
        keys: &[K],
        note: &mut Table<K, R>,
        number: impl Fn(&K) -> i64,
        read: impl Fn(&Cells<'_>) -> Answer<(K, R)>,
    ) -> Answer<()>
    where
        K: Ord + std::hash::Hash + Clone,
    {
        let numbers: Vec<i64> = keys.iter().map(&number).collect();
        let Some(ends) = near(&numbers) else {
            let bind = |key: &K| Ok(Some((number(key),)));
            return self.find((table, one), keys, note, bind, |cells| Ok(read(cells)?.1));
        };
        self.each(table, between, ends, |cells| {
            if numbers.binary_search(&cells.int(0)?).is_ok() {
                let (key, row) = read(cells)?;
                note.load(key, Some(row));
            }
            Ok(())
        })?;
        // What was found is not overwritten.
        keys.iter().for_each(|key| note.load(key.clone(), None));
        Ok(())
    }

    /// The entries of a list, `n` of them, and whether there are no more. The statement's last
    /// parameter is the limit, which `params` gets.
    pub(super) fn stretch<K, R, P: Params>(
        &self,
        (table, sql): (&'static str, &'static str),
        n: usize,
        params: impl FnOnce(i64) -> P,
        read: impl Fn(&Cells<'_>) -> Answer<(K, R)>,
    ) -> Answer<(Vec<(K, R)>, bool)> {
        // One more than asked for tells whether there are more.
        let n = n.clamp(1, i32::MAX as usize);
        let limit = i64::try_from(n).unwrap_or(i64::MAX).saturating_add(1);
        let mut found = self.all(table, sql, params(limit), read)?;
        let complete = found.len() <= n;
        found.truncate(n);
        Ok((found, complete))
    }

    /// Writes what changed in a table. Deletes come first: a new row may take over the key that an
    /// old one gives up.
    pub(super) fn keep<'v, K, R, D, P>(
        &self,
        sql: &Sql,
        rows: &'v Table<K, R>,
        key: impl Fn(&'v K) -> Answer<D>,
        row: impl Fn(&'v K, &'v R) -> Answer<P>,
    ) -> Answer<()>
    where
        K: Ord + std::hash::Hash + Clone + Debug,
        D: Params,
        P: Params,
    {
        if rows.dirty_len() == 0 {
            return Ok(());
        }
        let mut changes: Vec<(&K, Option<&R>)> = rows.changes().collect();
        changes.sort_unstable_by(|a, b| a.0.cmp(b.0));
        if changes.iter().any(|(_, r)| r.is_none()) {
            let mut delete = self.prepare(sql.delete)?;
            for (k, _) in changes.iter().filter(|(_, r)| r.is_none()) {
                delete.execute(key(k)?).or_fault()?;
            }
        }
        let mut put = self.prepare(sql.put)?;
        for (k, r) in changes {
            let Some(r) = r else { continue };
            if put.execute(row(k, r)?).or_fault()? == 0 {
                return Err(changed_identity(sql.table, k));
            }
        }
        Ok(())
    }

    /// Writes what changed in a list.
    pub(super) fn keep_list<'v, O, K, R, D, P>(
        &self,
        sql: &Sql,
        list: &'v Ranged<O, K, R>,
        key: impl Fn(&'v O, &'v K) -> Answer<D>,
        row: impl Fn(&'v O, &'v K, &'v R) -> Answer<P>,
    ) -> Answer<()>
    where
        O: Ord + Clone + 'v,
        K: Ord + Clone + 'v,
        R: Clone + 'v,
        D: Params,
        P: Params,
    {
        if list.dirty_len() == 0 {
            return Ok(());
        }
        if list.changes().any(|(_, _, r)| r.is_none()) {
            let mut delete = self.prepare(sql.delete)?;
            for (o, k, _) in list.changes().filter(|(_, _, r)| r.is_none()) {
                delete.execute(key(o, k)?).or_fault()?;
            }
        }
        let mut put = self.prepare(sql.put)?;
        for (o, k, r) in list.changes() {
            if let Some(r) = r {
                put.execute(row(o, k, r)?).or_fault()?;
            }
        }
        Ok(())
    }
}

/// The first and last of many ascending numbers that have few others between them.
pub(super) fn near(numbers: &[i64]) -> Option<(i64, i64)> {
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let span = usize::try_from(last.checked_sub(first)?).ok()?;
    (numbers.len() >= NEAR_MIN && span / NEAR_STEP_MAX < numbers.len()).then_some((first, last))
}

/// A row whose identity is fixed was given another one: rows and rules disagree.
pub(super) fn changed_identity(table: &str, key: &impl Debug) -> armarius_engine::seam::StoreError {
    corrupt(format!("table {table}, row {key:?}: what identifies it would change"))
}
