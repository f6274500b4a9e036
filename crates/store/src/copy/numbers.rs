//! Running numbers of the target: every shard counts on from the numbers it made before, even one
//! that holds nothing now, or a number would be given twice.

use std::collections::BTreeMap;

use armarius_core::ids::{Time, in_shard, shard_of};
use armarius_core::rows::{Counter, Target};

use crate::world::World;

/// Gathered while the rows of the source go by.
pub(super) struct Numbers {
    shards: Vec<BTreeMap<Counter, i64>>,
    absent: Vec<i64>,
    highest: BTreeMap<Counter, i64>,
}

impl Numbers {
    /// From what the shards of the source say themselves.
    pub(super) fn of(definitions: &[World], shards: u16) -> Self {
        let mut numbers = Self {
            shards: vec![BTreeMap::new(); usize::from(shards)],
            absent: vec![0; usize::from(shards)],
            highest: BTreeMap::new(),
        };
        // A shard that the target does not have gives no more numbers.
        for (mine, source) in numbers.shards.iter_mut().zip(definitions) {
            mine.clone_from(&source.counters);
        }
        for (counter, value) in definitions.iter().flat_map(|d| &d.counters) {
            let known = numbers.highest.entry(*counter).or_insert(*value);
            *known = (*known).max(*value);
        }
        numbers
    }

    /// The highest time anything was committed at.
    pub(super) fn clock(&self) -> Time {
        Time(self.highest.get(&Counter::Clock).copied().unwrap_or_default())
    }

    /// Rows of one shard of the target. An archive that was in a single file meanwhile does not
    /// know how far the other shards had counted; their numbers do.
    pub(super) fn note(&mut self, shard: u16, rows: &World) {
        let absent = rows.dependents.iter().filter(|(to, _)| matches!(to, Target::Absent(_)));
        let absent: usize = absent.map(|(_, tasks)| tasks.len()).sum();
        if let Some(sum) = self.absent.get_mut(usize::from(shard)) {
            *sum = sum.saturating_add(i64::try_from(absent).unwrap_or(i64::MAX));
        }
        rows.collections.keys().for_each(|id| self.reach(Counter::Collection, id.0));
        rows.flows.keys().for_each(|id| self.reach(Counter::Flow, id.0));
        rows.versions.keys().for_each(|id| self.reach(Counter::Version, id.0));
        rows.queues.keys().for_each(|id| self.reach(Counter::Queue, id.0));
        rows.items.keys().for_each(|id| self.reach(Counter::Item, id.0));
        rows.bodies.keys().for_each(|id| self.reach(Counter::Task, id.0));
        rows.batches.keys().for_each(|id| self.reach(Counter::Batch, id.0));
        rows.holds.keys().for_each(|id| self.reach(Counter::Hold, id.0));
        rows.schedules.keys().for_each(|id| self.reach(Counter::Schedule, id.0));
        let errands = rows.errands.values().flat_map(BTreeMap::keys);
        errands.for_each(|id| self.reach(Counter::Errand, id.0));
    }

    fn reach(&mut self, counter: Counter, number: i64) {
        let shard = shard_of(number);
        if let Some(counters) = self.shards.get_mut(usize::from(shard)) {
            let n = number - in_shard(shard, 0);
            let known = counters.entry(counter).or_insert(n);
            *known = (*known).max(n);
        }
    }

    /// The running numbers of each shard: its own for what it makes, everybody's for time.
    pub(super) fn counters(&self) -> Vec<BTreeMap<Counter, i64>> {
        let mut all = self.shards.clone();
        let highest = |counter| self.highest.get(&counter).copied().unwrap_or_default();
        for (counters, absent) in all.iter_mut().zip(&self.absent) {
            for (counter, value) in [
                (Counter::Turn, highest(Counter::Turn)),
                (Counter::Epoch, highest(Counter::Epoch)),
                (Counter::Clock, highest(Counter::Clock)),
                (Counter::Absent, *absent),
            ] {
                if value != 0 || counters.contains_key(&counter) {
                    counters.insert(counter, value);
                }
            }
        }
        all
    }
}
