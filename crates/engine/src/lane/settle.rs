//! The end of a group: one commit, then the answers.

use armarius_core::event::seal;
use armarius_core::ids::Time;
use armarius_core::rows::Counter;
use armarius_core::view::CommitHead;

use super::Lane;
use super::group::{Entry, Group};
use super::verdict::Trouble;
use crate::error::EngineError;
use crate::exit::Fatal;
use crate::seam::StoreError;

/// The cache is measured when so large a part of its bound may have been added.
const MEASURE_PART: usize = 16;

impl Lane<'_> {
    /// Commits a group and answers it; says whether the store does its work.
    pub(super) fn settle(&mut self, group: Group) -> Result<bool, Fatal> {
        let parks = group.entries.iter().any(|e| e.park.is_some());
        if let Err(error) = self.commit(group.now, parks) {
            return self.run_alone(group.entries, &Trouble::Store(error));
        }
        if !group.entries.is_empty() {
            self.tally().stats.groups += 1;
        }
        self.answer(group.entries);
        self.trim();
        Ok(true)
    }

    /// Makes what was decided durable; ends the transaction when there is nothing.
    pub(super) fn commit(&mut self, now: Time, parks: bool) -> Result<(), StoreError> {
        if self.view.dirty_len() == 0 && self.view.events.is_empty() {
            self.store.abandon();
            return Ok(());
        }
        if now.0 > self.high_water() {
            self.view.counters.put(Counter::Clock, now.0);
            self.view.keep();
        }
        let rows = self.view.dirty_len();
        let head = self.view.head;
        let commit = seal(head.n + 1, now, head.seal, &self.view.events);
        let began = self.clock.now();
        self.store.commit(&self.view, &commit)?;
        let took = self.clock.now().saturating_sub(began);
        if parks || !self.bell.is_empty() {
            self.bell.listen(&self.view);
        }
        self.view.committed(CommitHead { n: commit.n, seal: commit.seal });
        if let Some(duties) = &mut self.duties {
            duties.committed();
        }
        self.touched += rows;
        self.tally().committed(rows, took);
        Ok(())
    }

    /// Answers entries whose transaction has ended. A waiting claim that found nothing is parked.
    pub(super) fn answer(&mut self, entries: Vec<Entry>) {
        self.count(&entries);
        let clock = self.clock.now();
        for entry in entries {
            if entry.waits() {
                self.bell.park(entry.into_order(), clock);
            } else {
                entry.answer.give(entry.outcome);
            }
        }
    }

    /// Counts before anybody is answered, so that whoever has an answer finds it counted.
    fn count(&self, entries: &[Entry]) {
        let (mut commands, mut refused, mut failed, mut waiting) = (0, 0, 0, 0);
        for entry in entries {
            match &entry.outcome {
                Ok(_) if entry.waits() => waiting += 1,
                Ok(_) => commands += 1,
                Err(EngineError::Refused(_)) => refused += 1,
                Err(
                    EngineError::Full(_)
                    | EngineError::Unavailable(_)
                    | EngineError::Internal(_)
                    | EngineError::Stopped,
                ) => failed += 1,
            }
        }
        let mut tally = self.tally();
        tally.stats.commands += commands;
        tally.stats.refused += refused;
        tally.stats.failed += failed;
        tally.stats.parked = self.bell.len() + waiting;
    }

    /// Lets go of cached rows when there are too many. Measuring walks over all lists, so it is
    /// done only after enough has been added.
    fn trim(&mut self) {
        if self.touched <= self.cache_rows_max / MEASURE_PART {
            return;
        }
        self.touched = 0;
        if self.view.cached_len() > self.cache_rows_max {
            self.view.forget();
        }
    }
}
