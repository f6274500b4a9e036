//! What a table keeps its rows in.
//!
//! Tables that are always whole are small and are walked over in order; what is loaded on demand
//! is only ever looked up, and there is much of it. No decision depends on the order of the
//! latter: walking over it sorts first, and only checks and tests do that.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Rows by key, in order or scattered.
#[derive(Debug)]
pub(super) enum Cells<K, V> {
    Ordered(BTreeMap<K, V>),
    Scattered(HashMap<K, V, RandomState>),
}

impl<K: Ord + Hash + Clone, V> Cells<K, V> {
    pub(super) fn ordered() -> Self {
        Self::Ordered(BTreeMap::new())
    }

    pub(super) fn scattered() -> Self {
        Self::Scattered(HashMap::default())
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::Ordered(map) => map.get(key),
            Self::Scattered(map) => map.get(key),
        }
    }

    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self {
            Self::Ordered(map) => map.insert(key, value),
            Self::Scattered(map) => map.insert(key, value),
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::Ordered(map) => map.remove(key),
            Self::Scattered(map) => map.remove(key),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ordered(map) => map.len(),
            Self::Scattered(map) => map.len(),
        }
    }

    /// Everything, in order of the keys.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (&K, &V)> + '_> {
        match self {
            Self::Ordered(map) => Box::new(map.iter()),
            Self::Scattered(map) => {
                let mut all: Vec<(&K, &V)> = map.iter().collect();
                all.sort_unstable_by_key(|(key, _)| *key);
                Box::new(all.into_iter())
            }
        }
    }

    /// Everything from a key on, in order of the keys.
    pub(super) fn from(&self, key: &K) -> Box<dyn Iterator<Item = (&K, &V)> + '_> {
        match self {
            Self::Ordered(map) => Box::new(map.range(key.clone()..)),
            Self::Scattered(_) => {
                let key = key.clone();
                Box::new(self.iter().skip_while(move |(k, _)| **k < key))
            }
        }
    }

    /// Puts everything in order, for a sheet that has become a whole world.
    pub(super) fn put_in_order(&mut self) {
        if let Self::Scattered(map) = self {
            *self = Self::Ordered(std::mem::take(map).into_iter().collect());
        }
    }

    /// Drops everything else. Into a new map, because an emptied one would keep the room it had.
    pub(super) fn keep_only(&mut self, wanted: impl Fn(&V) -> bool) {
        match self {
            Self::Ordered(map) => map.retain(|_, v| wanted(v)),
            Self::Scattered(map) => {
                *map = std::mem::take(map).into_iter().filter(|(_, v)| wanted(v)).collect();
            }
        }
    }
}
