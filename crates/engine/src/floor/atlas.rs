//! Where things are, remembered: a bounded memory in front of the database's atlas.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use armarius_core::decide::HOUSE;
use armarius_core::text::Name;

use super::route::Whereabouts;
use crate::options::PLACES_MAX;
use crate::seam::{Atlas, StoreError, Thing};

/// Where things are.
pub(super) struct Places {
    shards: u16,
    known: Mutex<Known>,
    atlas: Mutex<Box<dyn Atlas>>,
}

#[derive(Default)]
struct Known {
    collections: Memory<Name>,
    things: Memory<Thing>,
}

/// Two halves: when the young one is full it becomes the old one, and what was old is forgotten.
struct Memory<K> {
    young: BTreeMap<K, u16>,
    old: BTreeMap<K, u16>,
}

impl<K> Default for Memory<K> {
    fn default() -> Self {
        Self { young: BTreeMap::new(), old: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Memory<K> {
    fn get(&mut self, key: &K) -> Option<u16> {
        if let Some(shard) = self.young.get(key) {
            return Some(*shard);
        }
        let shard = self.old.remove(key)?;
        self.put(key.clone(), shard);
        Some(shard)
    }

    fn put(&mut self, key: K, shard: u16) {
        if self.young.len() >= PLACES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, shard);
    }
}

impl Places {
    pub(super) fn new(shards: u16, atlas: Box<dyn Atlas>) -> Self {
        Self { shards, known: Mutex::default(), atlas: Mutex::new(atlas) }
    }

    /// Where a command belongs, if that is known without asking.
    pub(super) fn known(&self, at: &Whereabouts<'_>) -> Option<u16> {
        match at {
            Whereabouts::Shard(shard) => Some(self.existing(*shard)),
            // The house itself, which every server must find without asking.
            Whereabouts::Collection(name) if name.as_str() == HOUSE => Some(0),
            Whereabouts::Collection(name) => self.lock().collections.get(name),
            Whereabouts::Thing(thing) => self.lock().things.get(thing),
            Whereabouts::Either(first, second) => {
                let mut known = self.lock();
                known.things.get(first).or_else(|| known.things.get(second))
            }
            Whereabouts::Everywhere | Whereabouts::Work => None,
        }
    }

    /// Where a command belongs. What is nowhere goes to the first shard, whose rules refuse it in
    /// their own words.
    pub(super) fn find(&self, at: &Whereabouts<'_>) -> Result<u16, StoreError> {
        if let Some(shard) = self.known(at) {
            return Ok(shard);
        }
        match at {
            Whereabouts::Collection(name) => {
                let shard = self.existing(self.ask(|atlas| atlas.place(name))?);
                self.lock().collections.put((*name).clone(), shard);
                Ok(shard)
            }
            Whereabouts::Thing(thing) => Ok(self.seek(*thing)?.unwrap_or(0)),
            Whereabouts::Either(first, second) => match self.seek(*first)? {
                Some(shard) => Ok(shard),
                None => Ok(self.seek(*second)?.unwrap_or(0)),
            },
            Whereabouts::Shard(_) | Whereabouts::Everywhere | Whereabouts::Work => Ok(0),
        }
    }

    /// Remembers where something was made.
    pub(super) fn note(&self, thing: Thing, shard: u16) {
        self.lock().things.put(thing, shard);
    }

    fn seek(&self, thing: Thing) -> Result<Option<u16>, StoreError> {
        let found = self.ask(|atlas| atlas.find(thing))?.map(|shard| self.existing(shard));
        if let Some(shard) = found {
            self.note(thing, shard);
        }
        Ok(found)
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Atlas) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        question(self.atlas.lock().unwrap_or_else(PoisonError::into_inner).as_mut())
    }

    fn existing(&self, shard: u16) -> u16 {
        if shard < self.shards { shard } else { 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
