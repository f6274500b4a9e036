//! The end of a group: one commit, then the answers.

use armarius_core::event::seal;
use armarius_core::ids::Time;
use armarius_core::reply::Reply;
use armarius_core::rows::Counter;
use armarius_core::view::CommitHead;

use super::flight::{Flight, Landing};
use super::group::{Entry, Group};
use super::verdict::Trouble;
use super::{Lane, Place};
use crate::duties::Duties;
use crate::error::EngineError;
use crate::exit::Fatal;
use crate::floor::Floor;
use crate::handle::Shared;
use crate::seam::{Store, StoreError};

/// A row that is written or loaded may bring so many into the cache: itself and a list of its own.
const ROWS_PER_TOUCH: usize = 2;
/// The cache is measured at the earliest when so large a part of its bound may have been added.
const MEASURE_PART: usize = 16;

impl Lane<'_> {
    /// Commits a group and answers it; says whether the store does its work.
    pub(super) fn settle(&mut self, group: Group) -> Result<bool, Fatal> {
        if let Some((trouble, mut entries)) = self.land()? {
            // What was decided on top of it is void too.
            entries.extend(group.entries);
            return self.run_alone(entries, &trouble);
        }
        let parks = group.entries.iter().any(|e| e.park.is_some());
        let groups = u64::from(!group.entries.is_empty());
        if group.flies && self.is_changed() && !self.is_refreshing() {
            self.tally().stats.groups += groups;
            return self.fly(group, parks);
        }
        if let Err(error) = self.commit(group.now, parks) {
            return self.run_alone(group.entries, &Trouble::Store(error));
        }
        self.tally().stats.groups += groups;
        self.tell_floor();
        self.answered = group.entries.len();
        self.answer(group.entries);
        self.trim();
        Ok(true)
    }

    /// Waits for the commit that is under way, if one is. When it failed, says why and gives back
    /// its passengers.
    pub(super) fn land(&mut self) -> Result<Option<(Trouble, Vec<Entry>)>, Fatal> {
        let (Place::Away { .. }, Some(runway)) = (&self.place, &self.runway) else {
            return Ok(None);
        };
        let landing = runway.await_landing();
        self.shared.queue.seen_landing();
        match landing {
            Landing::Safe(store, head) => {
                self.place = Place::Home { store, begun: false };
                self.view.landed(head);
                self.trim();
                Ok(None)
            }
            Landing::Failed(store, error, entries) => {
                self.place = Place::Home { store, begun: false };
                Ok(Some((Trouble::Store(error), entries)))
            }
            Landing::Lost(why, entries) => {
                let fatal = self.fail(Fatal::software(why));
                // Kept until the stage is known: who is told `stopped` can ask why.
                drop(entries);
                Err(fatal)
            }
        }
    }

    /// Sends a group off to be written while the next one is decided.
    fn fly(&mut self, group: Group, parks: bool) -> Result<bool, Fatal> {
        self.note_time(group.now);
        self.listen(parks);
        self.touched += self.view.dirty_len();
        let entries = self.park_waiting(group.entries);
        let away = Place::Away { commands: entries.len() };
        let (Place::Home { store, begun }, Some(runway)) =
            (std::mem::replace(&mut self.place, away), &self.runway)
        else {
            return Err(self.fail(Fatal::software("no store to write to".to_owned())));
        };
        let parcel = Box::new(self.view.launch());
        let flight = Flight { store, begun, parcel, now: group.now, entries };
        match runway.send(flight) {
            Ok(()) => Ok(true),
            Err(unsent) => {
                let fatal = self.fail(Fatal::software("the writing thread is gone".to_owned()));
                drop(unsent);
                Err(fatal)
            }
        }
    }

    /// Makes what was decided durable; ends the transaction when there is nothing.
    pub(super) fn commit(&mut self, now: Time, parks: bool) -> Result<(), StoreError> {
        if !self.is_changed() {
            self.abandon();
            return Ok(());
        }
        self.note_time(now);
        let rows = self.view.dirty_len();
        let head = self.view.head;
        let commit = seal(head.n + 1, now, head.seal, &self.view.events);
        let clock = self.clock.now();
        let Place::Home { store, begun } = &mut self.place else {
            return Err(StoreError::Unavailable("a commit is under way".to_owned()));
        };
        if !std::mem::take(begun) {
            begin_again(&mut **store, &mut self.view)?;
        }
        store.commit(&self.view, &commit)?;
        let took = self.clock.now().saturating_sub(clock);
        self.listen(parks);
        self.view.committed(CommitHead { n: commit.n, seal: commit.seal });
        if let Some(duties) = &mut self.duties {
            duties.committed();
        }
        self.touched += rows;
        self.tally().committed(rows, took);
        Ok(())
    }

    fn is_changed(&self) -> bool {
        self.view.dirty_len() > 0 || !self.view.events.is_empty()
    }

    fn is_refreshing(&self) -> bool {
        self.duties.as_ref().is_some_and(|d| !d.refresh_is_done())
    }

    /// The highest time ever used is part of what is committed.
    fn note_time(&mut self, now: Time) {
        if now.0 > self.high_water() {
            self.view.counters.put(Counter::Clock, now.0);
            self.view.keep();
        }
    }

    /// Rings for what is about to be committed, if somebody waits or is about to.
    fn listen(&mut self, parks: bool) {
        if let Some(floor) = &self.floor {
            floor.committed(self.shard, &self.view);
        }
        if parks || !self.bell.hall().is_empty() {
            self.bell.listen(&self.view);
        }
    }

    /// Ends a transaction without a trace, if there is one.
    pub(super) fn abandon(&mut self) {
        if let Place::Home { store, begun } = &mut self.place {
            *begun = false;
            store.abandon();
        }
    }

    /// Nobody knows whether the group is there: it is not tried again, and whoever was promised
    /// something is told so. A refusal, or a claim that found nothing, holds either way.
    pub(super) fn leave_open(&mut self, mut entries: Vec<Entry>, trouble: &Trouble) -> bool {
        self.give_up();
        for entry in entries.iter_mut().filter(|e| e.outcome.is_ok() && !e.waits()) {
            entry.outcome = Err(trouble.for_caller());
        }
        self.answer(entries);
        false
    }

    /// What the others should know about this shard, before anybody asks because of an answer.
    fn tell_floor(&mut self) {
        let Some(floor) = &self.floor else { return };
        floor.tell(self.shard, &self.view);
        if self.refreshing && self.duties.as_ref().is_some_and(Duties::is_refreshed) {
            self.refreshing = false;
            floor.refreshed(self.shard);
        }
    }

    /// Answers entries whose transaction has ended. A waiting claim that found nothing is parked,
    /// or goes on to the next shard.
    pub(super) fn answer(&mut self, entries: Vec<Entry>) {
        let entries = match self.floor.clone() {
            Some(floor) => self.send_on(&floor, entries),
            None => self.park_waiting(entries),
        };
        answer_all(self.shared, entries);
    }

    /// Sends claims that found nothing on to the next shard; gives back the others.
    fn send_on(&self, floor: &Floor, entries: Vec<Entry>) -> Vec<Entry> {
        let (waiting, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(Entry::waits);
        for entry in &others {
            if let Ok(Reply::Claimed(Some(granted))) = &entry.outcome {
                floor.granted(self.shard, granted);
            }
        }
        for entry in waiting {
            let busy = match &entry.outcome {
                Err(EngineError::Refused(refusal)) => Some(refusal.clone()),
                Ok(_) | Err(_) => None,
            };
            floor.found_nothing(entry.into_order(), busy);
        }
        others
    }

    /// Parks the waiting claims that found nothing; gives back the others.
    fn park_waiting(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let clock = self.clock.now();
        let (waiting, others): (Vec<_>, Vec<_>) = entries.into_iter().partition(Entry::waits);
        self.tally().stats.parked = self.bell.hall().len() + waiting.len();
        for entry in waiting {
            self.bell.hall().park(entry.into_order(), clock);
        }
        others
    }

    /// Lets go of cached rows when there are too many. Measuring walks over all lists, so it is
    /// done only when so much was touched that there may be.
    fn trim(&mut self) {
        if self.touched <= self.spare.max(self.cache_rows_max / MEASURE_PART) {
            return;
        }
        self.touched = 0;
        if self.view.cached_len() > self.cache_rows_max {
            self.view.forget();
        }
        self.spare = self.cache_rows_max.saturating_sub(self.view.cached_len()) / ROWS_PER_TOUCH;
    }
}

/// Begins the transaction of a group that was decided while the store was away.
pub(super) fn begin_again(
    store: &mut dyn Store,
    view: &mut armarius_core::view::View,
) -> Result<(), StoreError> {
    let before = (view.head, view.dirty_len(), view.events.len());
    store.begin(view)?;
    if before == (view.head, view.dirty_len(), view.events.len()) {
        return Ok(());
    }
    // Somebody else wrote, although the store said that nobody can.
    store.abandon();
    Err(StoreError::Corrupt(format!("commit {} was overtaken", before.0.n + 1)))
}

/// Answers everyone. Counts first, so that whoever has an answer finds it counted.
pub(super) fn answer_all(shared: &Shared, entries: Vec<Entry>) {
    count(shared, &entries);
    for entry in entries {
        entry.answer.give(entry.outcome);
    }
}

fn count(shared: &Shared, entries: &[Entry]) {
    let (mut commands, mut refused, mut failed) = (0, 0, 0);
    for entry in entries {
        match &entry.outcome {
            Ok(_) => commands += 1,
            Err(EngineError::Refused(_)) => refused += 1,
            Err(
                EngineError::Full(_)
                | EngineError::Unavailable(_)
                | EngineError::OutcomeUnknown(_)
                | EngineError::Internal(_)
                | EngineError::Stopped,
            ) => failed += 1,
        }
    }
    let mut tally = shared.tally();
    tally.stats.commands += commands;
    tally.stats.refused += refused;
    tally.stats.failed += failed;
}
