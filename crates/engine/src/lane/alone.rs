//! After an unexpected error: each command of the group in a transaction of its own.
//!
//! Nothing of the group was kept, so this is the first time for each of them. Whoever still cannot
//! be served is told why; the others never notice. When the store is full, new work is refused and
//! everything else gets one more try: the store gives up its ballast meanwhile.

use super::Lane;
use super::group::Entry;
use super::verdict::Trouble;
use crate::error::{EngineError, Outcome, no_room};
use crate::exit::Fatal;
use crate::queue::Stage;
use crate::seam::StoreError;
use crate::urgency::needs_room;

/// How often a command that needs no room for new work meets a full store before it is told.
const FULL_TRIES: usize = 2;

impl Lane<'_> {
    /// Runs the commands of a broken group one by one; says whether the last of them went well.
    pub(super) fn run_alone(
        &mut self,
        entries: Vec<Entry>,
        trouble: &Trouble,
    ) -> Result<bool, Fatal> {
        if trouble.is_unknown() {
            return Ok(self.leave_open(entries, trouble));
        }
        self.give_up();
        if let Some(fatal) = trouble.fatal() {
            return Err(self.fail(fatal));
        }
        self.tally().stats.fallbacks += 1;
        let full = is_full(trouble);
        let mut away: Option<EngineError> = None;
        let mut went_well = false;
        let mut entries = entries.into_iter();
        while let Some(mut entry) = entries.next() {
            entry.outcome = match &away {
                Some(error) => Err(error.clone()),
                None if full && needs_room(&entry.call.command) => Err(no_room()),
                None => match self.run_one(&mut entry, &mut away) {
                    Ok(outcome) => outcome,
                    Err(fatal) => {
                        let fatal = self.fail(fatal);
                        // Kept until the stage is known: who is told `stopped` can ask why.
                        drop((entry, entries));
                        return Err(fatal);
                    }
                },
            };
            went_well = entry.outcome.is_ok();
            self.answer(vec![entry]);
        }
        Ok(went_well)
    }

    /// One command, tried again when the store was full. `away` is set when the store is out of
    /// reach, so that the others need not find out one by one.
    fn run_one(
        &mut self,
        entry: &mut Entry,
        away: &mut Option<EngineError>,
    ) -> Result<Outcome, Fatal> {
        let mut tries = 0;
        loop {
            tries += 1;
            let trouble = match self.try_one(entry) {
                Ok(outcome) => return Ok(outcome),
                Err(Failed::ToBegin(trouble)) => {
                    *away = Some(trouble.for_caller());
                    trouble
                }
                Err(Failed::Later(trouble)) => trouble,
            };
            self.give_up();
            if let Some(fatal) = trouble.fatal() {
                return Err(fatal);
            }
            if !is_full(&trouble) {
                return Ok(Err(trouble.for_caller()));
            }
            if needs_room(&entry.call.command) {
                return Ok(Err(no_room()));
            }
            if tries == FULL_TRIES {
                return Ok(Err(trouble.for_caller()));
            }
        }
    }

    fn try_one(&mut self, entry: &mut Entry) -> Result<Outcome, Failed> {
        let now = self.begin().map_err(Failed::ToBegin)?;
        self.clear_doubt(now).map_err(Failed::Later)?;
        if self.short && needs_room(&entry.call.command) {
            self.abandon();
            return Ok(Err(no_room()));
        }
        entry.call.now = now;
        let verdict = self.rule(&entry.call).map_err(Failed::Later)?;
        let parks = entry.park.is_some();
        self.commit(now, parks).map_err(|e| Failed::Later(e.into()))?;
        Ok(verdict.map_err(EngineError::from))
    }

    /// Makes the end known before anybody is told `stopped`.
    pub(super) fn fail(&self, fatal: Fatal) -> Fatal {
        self.shared.queue.end(Stage::Failed(fatal.clone()));
        fatal
    }
}

/// Where a single command met its trouble.
enum Failed {
    ToBegin(Trouble),
    Later(Trouble),
}

fn is_full(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Store(StoreError::Full(_)) => true,
        Trouble::Store(
            StoreError::Unavailable(_)
            | StoreError::Unknown(_)
            | StoreError::Unusable(_)
            | StoreError::Corrupt(_)
            | StoreError::Disk(_),
        )
        | Trouble::Broken(_) => false,
    }
}
