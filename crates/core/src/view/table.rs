//! Rows by key, known or not yet known.

use std::hash::Hash;

use super::cells::Cells;
use super::{Need, Stay, Stop};

/// Rows by key. A key may be unknown (somebody must load it), known to be absent, or present.
#[derive(Debug)]
pub struct Table<K, R> {
    cells: Cells<K, Cell<R>>,
    stay: Stay,
    need: fn(K) -> Need,
    dirty: Vec<K>,
    /// Written by the turn before this one, whose commit is under way.
    flying: Vec<K>,
    /// What a parcel carries.
    carried: Vec<(K, Option<R>)>,
    /// Turns so far: a cell written in the present turn is dirty.
    turn: u64,
    /// Moves with every change of what is known.
    edition: u64,
    undo: Vec<(K, Option<Cell<R>>)>,
}

#[derive(Clone, Debug)]
struct Cell<R> {
    row: Option<R>,
    /// The turn it was last written in, 0 when it was only loaded.
    written: u64,
}

impl<K: Ord + Hash + Clone, R> Table<K, R> {
    pub(super) fn new(need: fn(K) -> Need, stay: Stay) -> Self {
        let cells = if stay == Stay::Whole { Cells::ordered() } else { Cells::scattered() };
        Self {
            cells,
            stay,
            need,
            dirty: Vec::new(),
            flying: Vec::new(),
            carried: Vec::new(),
            turn: 1,
            edition: 0,
            undo: Vec::new(),
        }
    }

    /// A number that differs whenever what is known differs: what was made from this table is still
    /// good while it stands.
    pub(crate) fn edition(&self) -> u64 {
        self.edition
    }

    /// The row of a key, `None` when it is known to be absent.
    pub fn get(&self, key: &K) -> Result<Option<&R>, Stop> {
        match self.cells.get(key) {
            Some(cell) => Ok(cell.row.as_ref()),
            None if self.stay == Stay::Whole => Ok(None),
            None => Err(Stop::need((self.need)(key.clone()))),
        }
    }

    /// Whether the key's row, or its absence, is known.
    pub fn knows(&self, key: &K) -> bool {
        self.stay == Stay::Whole || self.cells.get(key).is_some()
    }

    /// What must be loaded before [`Table::get`] can answer for this key, if anything.
    pub fn missing(&self, key: &K) -> Option<Need> {
        (!self.knows(key)).then(|| (self.need)(key.clone()))
    }

    /// Writes a row.
    pub fn put(&mut self, key: K, row: R) {
        self.write(key, Some(row));
    }

    /// Removes a row.
    pub fn delete(&mut self, key: K) {
        self.write(key, None);
    }

    fn write(&mut self, key: K, row: Option<R>) {
        self.edition += 1;
        let old = self.cells.insert(key.clone(), Cell { row, written: self.turn });
        if old.as_ref().is_none_or(|c| c.written != self.turn) {
            self.dirty.push(key.clone());
        }
        self.undo.push((key, old));
    }

    /// Notes what a store found. Never overwrites what was written since.
    pub fn load(&mut self, key: K, row: Option<R>) {
        if self.cells.get(&key).is_none() {
            self.edition += 1;
            self.cells.insert(key, Cell { row, written: 0 });
        }
    }

    /// The known, present rows in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &R)> {
        self.cells.iter().filter_map(|(k, c)| Some((k, c.row.as_ref()?)))
    }

    /// The known, present rows from a key on, in key order.
    pub fn iter_from(&self, key: &K) -> impl Iterator<Item = (&K, &R)> {
        self.cells.from(key).filter_map(|(k, c)| Some((k, c.row.as_ref()?)))
    }

    /// What was written since the last commit, each key once, with its final row.
    pub fn changes(&self) -> impl Iterator<Item = (&K, Option<&R>)> {
        let carried = self.carried.iter().map(|(k, row)| (k, row.as_ref()));
        let dirty = self.dirty.iter().filter_map(|k| Some((k, self.cells.get(k)?.row.as_ref())));
        carried.chain(dirty)
    }

    /// How many rows were written since the last commit.
    pub fn dirty_len(&self) -> usize {
        self.carried.len() + self.dirty.len()
    }

    /// Gives another sheet what is known of a key.
    pub(super) fn lend(&self, key: &K, to: &mut Self)
    where
        R: Clone,
    {
        to.load(key.clone(), self.cells.get(key).and_then(|c| c.row.clone()));
    }

    /// Writes what another sheet has changed.
    pub(super) fn absorb(&mut self, from: &Self)
    where
        R: Clone,
    {
        for (key, row) in from.changes() {
            self.write(key.clone(), row.cloned());
        }
    }

    /// Gives another sheet every row, as whole tables do.
    pub(super) fn lend_all(&self, to: &mut Self)
    where
        R: Clone,
    {
        for (key, row) in self.iter() {
            to.load(key.clone(), Some(row.clone()));
        }
    }

    /// How many cells are kept.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn keep(&mut self) {
        self.undo.clear();
    }

    pub(super) fn rollback(&mut self) {
        while let Some((key, old)) = self.undo.pop() {
            self.edition += 1;
            if old.as_ref().is_none_or(|c| c.written != self.turn) {
                self.dirty.pop();
            }
            match old {
                Some(cell) => self.cells.insert(key, cell),
                None => self.cells.remove(&key),
            };
        }
    }

    /// Copies what was written into a parcel; the next turn begins. Until [`Table::landed`] nothing
    /// of it is dropped: a store does not show it yet.
    pub(super) fn launch(&mut self, parcel: &mut Self)
    where
        R: Clone,
    {
        debug_assert!(self.flying.is_empty(), "one flight at a time");
        parcel.carried = self.changes().map(|(k, row)| (k.clone(), row.cloned())).collect();
        std::mem::swap(&mut self.flying, &mut self.dirty);
        self.turn += 1;
        self.undo.clear();
    }

    /// What was launched is durable.
    pub(super) fn landed(&mut self) {
        for key in self.flying.drain(..) {
            let rewritten = self.cells.get(&key).is_some_and(|c| c.written == self.turn);
            if self.stay == Stay::Passing && !rewritten {
                self.cells.remove(&key);
            }
        }
    }

    pub(super) fn committed(&mut self) {
        for key in self.dirty.drain(..) {
            if self.stay == Stay::Passing {
                self.cells.remove(&key);
            }
        }
        self.turn += 1;
        self.undo.clear();
    }

    pub(super) fn know_everything(&mut self) {
        self.stay = Stay::Whole;
        self.cells.put_in_order();
    }

    /// The oldest turn that is not durable yet.
    fn oldest_pending(&self) -> u64 {
        if self.flying.is_empty() { self.turn } else { self.turn - 1 }
    }

    /// Drops one row that can be loaded again.
    pub(super) fn drop_clean(&mut self, key: &K) {
        let pending = self.oldest_pending();
        let clean = self.cells.get(key).is_some_and(|c| c.written < pending);
        if self.stay != Stay::Whole && clean {
            self.cells.remove(key);
        }
    }

    /// Drops every row that can be loaded again.
    pub(super) fn forget(&mut self) {
        let pending = self.oldest_pending();
        if self.stay != Stay::Whole {
            self.cells.keep_only(|c| c.written >= pending);
        }
    }
}
