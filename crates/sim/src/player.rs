//! Plays steps on a store: decide, load what is missing, decide again, commit. No engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use armarius_core::command::Call;
use armarius_core::event::seal;
use armarius_core::ids::Time;
use armarius_core::rows::Counter;
use armarius_core::view::{CommitHead, Need, Stop, View};
use armarius_core::{decide, foresee};
use armarius_engine::seam::{Store, StoreError};

use crate::dice::chance;
use crate::script::{Outcome, Step};

/// How often one step may ask for more rows.
const LOADS_MAX: usize = 1_000;

/// A store and the view of it that lasts from step to step.
#[derive(Debug)]
pub struct Player<S> {
    /// The store.
    pub store: S,
    view: View,
    hand: Arc<AtomicI64>,
    seed: u64,
    played: u64,
}

impl<S: Store> Player<S> {
    /// A player of a seed's steps, on a store whose clock has this hand, from a step on.
    pub fn new(store: S, hand: Arc<AtomicI64>, seed: u64, from: u64) -> Self {
        Self { store, view: View::new(0), hand, seed, played: from }
    }

    /// Goes on at a step, after others have played those before it.
    pub fn go_to(&mut self, step: u64) {
        self.played = step;
    }

    /// Drops everything that was remembered and can be loaded again.
    pub fn forget(&mut self) {
        self.view.forget();
    }

    /// Plays one step in a commit of its own.
    pub fn play(&mut self, step: &Step) -> Result<Outcome, StoreError> {
        let now = self.begin(step.at)?;
        let outcome = self.rule(step, now)?;
        self.finish(now)?;
        Ok(outcome)
    }

    /// Plays steps of one moment in one commit.
    pub fn play_together(&mut self, steps: &[Step]) -> Result<Vec<Outcome>, StoreError> {
        let Some(first) = steps.first() else { return Ok(Vec::new()) };
        let now = self.begin(first.at)?;
        let outcomes: Result<Vec<Outcome>, _> =
            steps.iter().map(|step| self.rule(step, now)).collect();
        let outcomes = outcomes?;
        self.finish(now)?;
        Ok(outcomes)
    }

    /// As [`Player::play_together`], but before each step what it and those behind it would need is
    /// loaded, and nothing else is done with that.
    pub fn play_foreseen(&mut self, steps: &[Step]) -> Result<Vec<Outcome>, StoreError> {
        let Some(first) = steps.first() else { return Ok(Vec::new()) };
        let now = self.begin(first.at)?;
        let mut outcomes = Vec::with_capacity(steps.len());
        for (n, step) in steps.iter().enumerate() {
            let before = self.view.changes_text();
            let ahead: Vec<Call> = steps.iter().skip(n).map(|s| self.call(s, now)).collect();
            let foreseen = ahead.iter().flat_map(|call| foresee(&mut self.view, call));
            let needs: Vec<Need> = foreseen.collect();
            if self.view.changes_text() != before {
                return Err(StoreError::Corrupt(format!("foreseeing {ahead:?} left a trace")));
            }
            self.store.load(&needs, &mut self.view)?;
            outcomes.push(self.rule(step, now)?);
        }
        self.finish(now)?;
        Ok(outcomes)
    }

    fn begin(&mut self, at: Time) -> Result<Time, StoreError> {
        self.hand.store(at.0, Ordering::SeqCst);
        self.store.begin(&mut self.view)
    }

    fn rule(&mut self, step: &Step, now: Time) -> Result<Outcome, StoreError> {
        let call = self.call(step, now);
        self.played += 1;
        for _ in 0..LOADS_MAX {
            match decide(&mut self.view, &call) {
                Ok(reply) => return Ok(Ok(reply)),
                Err(Stop::Refuse(refusal)) => return Ok(Err(*refusal)),
                Err(Stop::Need(needs)) => self.store.load(&needs, &mut self.view)?,
            }
        }
        Err(StoreError::Corrupt(format!("more than {LOADS_MAX} loads for {call:?}")))
    }

    fn call(&self, step: &Step, now: Time) -> Call {
        Call {
            now,
            actor: step.actor.clone(),
            chance: chance(self.seed, self.played),
            idem: step.idem.clone(),
            command: step.command.clone(),
        }
    }

    /// Commits what changed, with the time it happened at; ends a transaction that changed nothing.
    fn finish(&mut self, now: Time) -> Result<(), StoreError> {
        if self.view.dirty_len() == 0 && self.view.events.is_empty() {
            self.store.abandon();
            return Ok(());
        }
        let high = self.view.counters.get(&Counter::Clock).ok().flatten().copied();
        if now.0 > high.unwrap_or(0) {
            self.view.counters.put(Counter::Clock, now.0);
            self.view.keep();
        }
        let head = self.view.head;
        let commit = seal(head.n + 1, now, head.seal, &self.view.events);
        self.store.commit(&self.view, &commit)?;
        self.view.committed(CommitHead { n: commit.n, seal: commit.seal });
        Ok(())
    }
}
