//! Ordered lists of which only a stretch is known: the front of a queue, a task's dependents.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::{Need, Stay, Stop};

/// Lists by owner, each in key order, each known over one stretch.
#[derive(Debug)]
pub struct Ranged<P, K, R> {
    lists: BTreeMap<P, List<K, R>>,
    stay: Stay,
    /// What an unknown list is, when everything is loaded.
    nothing: BTreeMap<K, R>,
    need: fn(P, Option<K>, usize) -> Need,
    /// Lists written since the last commit.
    dirty: BTreeSet<P>,
    /// Entries written since the last commit.
    dirty_len: usize,
    /// Lists written by the turn before this one, whose commit is under way.
    flying: BTreeSet<P>,
    /// What a parcel carries.
    carried: Vec<(P, K, Option<R>)>,
    undo: Vec<Undo<P, K, R>>,
}

#[derive(Debug)]
struct List<K, R> {
    rows: BTreeMap<K, R>,
    known: Option<Stretch<K>>,
    changes: BTreeMap<K, Option<R>>,
    /// Changes whose commit is under way: a store may show the list with or without them.
    flying: BTreeMap<K, Option<R>>,
}

/// Everything after `after` (or from the start) up to and including `upto` (or to the end).
#[derive(Clone, Debug)]
struct Stretch<K> {
    after: Option<K>,
    upto: Option<K>,
}

#[derive(Debug)]
struct Undo<P, K, R> {
    list: P,
    key: K,
    row: Option<R>,
    change: Option<Option<R>>,
}

impl<K: Ord> Stretch<K> {
    fn covers(&self, key: &K) -> bool {
        self.after.as_ref().is_none_or(|a| key > a) && self.upto.as_ref().is_none_or(|u| key <= u)
    }
}

impl<K: Ord, R> Default for List<K, R> {
    fn default() -> Self {
        let (changes, flying) = (BTreeMap::new(), BTreeMap::new());
        Self { rows: BTreeMap::new(), known: None, changes, flying }
    }
}

impl<P: Ord + Clone, K: Ord + Clone, R: Clone> Ranged<P, K, R> {
    pub(super) fn new(need: fn(P, Option<K>, usize) -> Need, stay: Stay) -> Self {
        Self {
            lists: BTreeMap::new(),
            stay,
            nothing: BTreeMap::new(),
            need,
            dirty: BTreeSet::new(),
            dirty_len: 0,
            flying: BTreeSet::new(),
            carried: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// The first entries of a list: at least `n` of them, or all.
    pub fn first<'a>(
        &'a self,
        list: &P,
        n: usize,
    ) -> Result<impl Iterator<Item = (&'a K, &'a R)> + use<'a, P, K, R>, Stop> {
        self.after(list, None, n)
    }

    /// The entries after a key: at least `n` of them, or all there are.
    pub fn after<'a>(
        &'a self,
        list: &P,
        after: Option<&K>,
        n: usize,
    ) -> Result<impl Iterator<Item = (&'a K, &'a R)> + use<'a, P, K, R>, Stop> {
        let found = self.lists.get(list);
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        if let Some(rows) = found.and_then(|l| l.stretch_from(after, n)) {
            return Ok(rows.range((lower, Bound::Unbounded)));
        }
        if self.stay == Stay::Whole {
            let rows = found.map_or(&self.nothing, |l| &l.rows);
            return Ok(rows.range((lower, Bound::Unbounded)));
        }
        // What was removed since the last commit is still in the store, and must be read past.
        let slack = found.map_or(0, |l| l.changes.len() + l.flying.len());
        Err(Stop::need((self.need)(list.clone(), after.cloned(), n + slack)))
    }

    /// One entry, if the stretch that is known covers it.
    pub fn seen(&self, list: &P, key: &K) -> Option<&R> {
        self.lists.get(list)?.rows.get(key)
    }

    /// An entry that was written since the last commit and is there: also what this decision put
    /// itself, however little of the list is known.
    pub fn was_put(&self, list: &P, key: &K) -> Option<&R> {
        self.lists.get(list)?.changes.get(key)?.as_ref()
    }

    /// Writes an entry.
    pub fn put(&mut self, list: P, key: K, row: R) {
        self.write(list, key, Some(row));
    }

    /// Removes an entry.
    pub fn delete(&mut self, list: P, key: K) {
        self.write(list, key, None);
    }

    fn write(&mut self, list: P, key: K, row: Option<R>) {
        let l = self.lists.entry(list.clone()).or_default();
        if self.stay == Stay::Whole && l.known.is_none() {
            l.known = Some(Stretch { after: None, upto: None });
        }
        if l.changes.is_empty() {
            self.dirty.insert(list.clone());
        }
        let change = l.changes.insert(key.clone(), row.clone());
        self.dirty_len += usize::from(change.is_none());
        let old = match row {
            Some(row) if l.known.as_ref().is_some_and(|s| s.covers(&key)) => {
                l.rows.insert(key.clone(), row)
            }
            Some(_) => None,
            None => l.rows.remove(&key),
        };
        self.undo.push(Undo { list, key, row: old, change });
    }

    /// Notes what a store found: its entries after `after` in order, and whether that was all.
    pub fn load(&mut self, list: P, after: Option<K>, found: Vec<(K, R)>, complete: bool) {
        let l = self.lists.entry(list).or_default();
        let upto = if complete { None } else { found.last().map(|(k, _)| k.clone()) };
        let stretch = Stretch { after, upto };
        l.rows = found.into_iter().collect();
        for (key, change) in l.flying.iter().chain(&l.changes) {
            match change {
                Some(row) if stretch.covers(key) => {
                    l.rows.insert(key.clone(), row.clone());
                }
                Some(_) => {}
                None => {
                    l.rows.remove(key);
                }
            }
        }
        l.known = Some(stretch);
    }

    /// Gives another sheet at least `n` entries of a list after a key.
    pub(super) fn lend(&self, list: &P, after: Option<&K>, n: usize, to: &mut Self) {
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.lists.get(list).map_or(&self.nothing, |l| &l.rows);
        let mut found: Vec<(K, R)> = rows
            .range((lower, Bound::Unbounded))
            .take(n.saturating_add(1))
            .map(|(k, r)| (k.clone(), r.clone()))
            .collect();
        let complete = found.len() <= n;
        found.truncate(n);
        to.load(list.clone(), after.cloned(), found, complete);
    }

    /// Notes a list that is spread over several sheets, as far as all of them know it.
    pub(super) fn gather(&mut self, list: &P, after: Option<&K>, n: usize, from: &[&Self]) {
        let known = from.iter().filter_map(|s| s.lists.get(list));
        // Beyond where one of the sheets stops knowing, the order between them is unknown.
        let upto = known.clone().filter_map(|l| l.known.as_ref()?.upto.clone()).min();
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let upper = upto.as_ref().map_or(Bound::Unbounded, Bound::Included);
        let mut rows: BTreeMap<K, R> = BTreeMap::new();
        if after.is_none_or(|a| upto.as_ref().is_none_or(|u| a < u)) {
            for l in known {
                rows.extend(l.rows.range((lower, upper)).map(|(k, r)| (k.clone(), r.clone())));
            }
        }
        let complete = upto.is_none() && rows.len() <= n.max(1);
        let found = rows.into_iter().take(n.max(1)).collect();
        self.load(list.clone(), after.cloned(), found, complete);
    }

    /// Writes what another sheet has changed.
    pub(super) fn absorb(&mut self, from: &Self) {
        for (list, key, row) in from.changes() {
            self.write(list.clone(), key.clone(), row.cloned());
        }
    }

    /// Declares an empty list known, because its owner is new.
    pub fn begin(&mut self, list: P) {
        let l = self.lists.entry(list).or_default();
        if l.known.is_none() && l.is_clean() {
            l.known = Some(Stretch { after: None, upto: None });
        }
    }

    /// What was written since the last commit.
    pub fn changes(&self) -> impl Iterator<Item = (&P, &K, Option<&R>)> {
        let carried = self.carried.iter().map(|(p, k, c)| (p, k, c.as_ref()));
        let dirty = self
            .dirty
            .iter()
            .filter_map(|p| Some((p, self.lists.get(p)?)))
            .flat_map(|(p, l)| l.changes.iter().map(move |(k, c)| (p, k, c.as_ref())));
        carried.chain(dirty)
    }

    /// Every known entry, for checks over a view that holds the whole world.
    pub fn iter(&self) -> impl Iterator<Item = (&P, &K, &R)> {
        self.lists.iter().flat_map(|(p, l)| l.rows.iter().map(move |(k, r)| (p, k, r)))
    }

    /// How many entries were written since the last commit.
    pub fn dirty_len(&self) -> usize {
        self.carried.len() + self.dirty_len
    }

    pub(super) fn len(&self) -> usize {
        self.lists.values().map(|l| l.rows.len() + 1).sum()
    }

    pub(super) fn keep(&mut self) {
        self.undo.clear();
    }

    pub(super) fn rollback(&mut self) {
        while let Some(Undo { list, key, row, change }) = self.undo.pop() {
            let l = self.lists.entry(list).or_default();
            match row {
                Some(row) => l.rows.insert(key.clone(), row),
                None => l.rows.remove(&key),
            };
            match change {
                Some(change) => l.changes.insert(key, change),
                None => {
                    self.dirty_len -= 1;
                    l.changes.remove(&key)
                }
            };
        }
    }

    /// Copies what was written into a parcel; the next turn begins. Until [`Ranged::landed`] what
    /// is loaded is corrected by it.
    pub(super) fn launch(&mut self, parcel: &mut Self) {
        debug_assert!(self.flying.is_empty(), "one flight at a time");
        parcel.carried.reserve(self.dirty_len);
        self.flying = std::mem::take(&mut self.dirty);
        for list in &self.flying {
            let Some(l) = self.lists.get_mut(list) else { continue };
            l.flying = std::mem::take(&mut l.changes);
            let entries = l.flying.iter().map(|(k, c)| (list.clone(), k.clone(), c.clone()));
            parcel.carried.extend(entries);
        }
        self.dirty_len = 0;
        self.undo.clear();
    }

    /// What was launched is durable.
    pub(super) fn landed(&mut self) {
        for list in std::mem::take(&mut self.flying) {
            let Some(l) = self.lists.get_mut(&list) else { continue };
            l.flying.clear();
            if self.stay == Stay::Passing && l.changes.is_empty() {
                self.lists.remove(&list);
            }
        }
    }

    pub(super) fn committed(&mut self) {
        for list in std::mem::take(&mut self.dirty) {
            if self.stay == Stay::Passing {
                self.lists.remove(&list);
            } else if let Some(l) = self.lists.get_mut(&list) {
                l.changes.clear();
            }
        }
        self.dirty_len = 0;
        self.undo.clear();
    }

    pub(super) fn know_everything(&mut self) {
        self.stay = Stay::Whole;
    }

    /// Drops one list that can be loaded again.
    pub(super) fn drop_clean(&mut self, list: &P) {
        if self.stay != Stay::Whole && self.lists.get(list).is_some_and(List::is_clean) {
            self.lists.remove(list);
        }
    }

    /// Drops everything that can be loaded again.
    pub(super) fn forget(&mut self) {
        if self.stay == Stay::Whole {
            return;
        }
        self.lists.retain(|_, l| !l.is_clean());
        for l in self.lists.values_mut() {
            l.rows = BTreeMap::new();
            l.known = None;
        }
    }
}

impl<K: Ord, R> List<K, R> {
    /// Whether a store shows everything that is known of it.
    fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.flying.is_empty()
    }

    /// The rows, when they answer for at least `n` entries after `after`.
    fn stretch_from(&self, after: Option<&K>, n: usize) -> Option<&BTreeMap<K, R>> {
        let known = self.known.as_ref()?;
        let begins = match (&known.after, after) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(from), Some(after)) => from <= after,
        };
        if !begins {
            return None;
        }
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let enough =
            known.upto.is_none() || self.rows.range((lower, Bound::Unbounded)).take(n).count() >= n;
        enough.then_some(&self.rows)
    }
}
