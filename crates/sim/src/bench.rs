//! A running engine whose time and chance are in the hands of whoever plays.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use armarius_core::ids::Time;
use armarius_engine::chance::{Chance, Dry};
use armarius_engine::clock::HandClock;
use armarius_engine::seam::{Database, Store, StoreError};
use armarius_engine::{Engine, Handle, Options, Outcome, Request, StartError};
use armarius_store::{Clock, Sqlite};

use crate::dice::chance;
use crate::script::{BEGIN, Step};

/// Pages in the log after which they are moved into the file: few, so that scripts come to it.
const CHECKPOINT_PAGES: u32 = 200;

/// An engine on a bench.
#[derive(Debug)]
pub struct Bench {
    /// The engine.
    pub engine: Engine,
    handle: Handle,
    hand: Arc<AtomicI64>,
    next: Arc<AtomicU64>,
}

/// The random bits of a seed's steps, by number.
struct Numbered {
    seed: u64,
    next: Arc<AtomicU64>,
}

impl Chance for Numbered {
    fn draw(&mut self) -> Result<u128, Dry> {
        Ok(chance(self.seed, self.next.fetch_add(1, Ordering::SeqCst)))
    }
}

impl Bench {
    /// Starts an engine on a store whose clock has this hand. Duties are left to the script unless
    /// `options` say otherwise; time and chance are the script's.
    pub fn start(
        store: Box<dyn Store>,
        hand: Arc<AtomicI64>,
        seed: u64,
        options: Options,
    ) -> Result<Self, StartError> {
        let next = Arc::new(AtomicU64::new(0));
        let chance = Box::new(Numbered { seed, next: Arc::clone(&next) });
        let clock = Arc::new(HandClock::at(BEGIN));
        let engine = Engine::start(store, Options { clock, chance, ..options })?;
        Ok(Self { handle: engine.handle(), engine, hand, next })
    }

    /// As [`Bench::start`], on all shards of a database.
    pub fn start_all(
        database: &dyn Database,
        hand: Arc<AtomicI64>,
        seed: u64,
        options: Options,
    ) -> Result<Self, StartError> {
        let next = Arc::new(AtomicU64::new(0));
        let chance = Box::new(Numbered { seed, next: Arc::clone(&next) });
        let clock = Arc::new(HandClock::at(BEGIN));
        let engine = Engine::start_all(database, Options { clock, chance, ..options })?;
        Ok(Self { handle: engine.handle(), engine, hand, next })
    }

    /// The engine's way in.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Plays the `n`-th step of the seed and waits for the answer.
    pub fn play(&self, n: u64, step: &Step) -> Outcome {
        self.set(n, step.at);
        self.handle.call(step.actor.clone(), step.idem.clone(), step.command.clone())
    }

    /// Plays steps of one moment from the `n`-th on as one bulk.
    pub fn play_together(&self, n: u64, steps: &[Step]) -> Vec<Outcome> {
        let Some(first) = steps.first() else { return Vec::new() };
        self.set(n, first.at);
        let requests = steps.iter().cloned().map(|step| {
            let Step { actor, idem, command, .. } = step;
            Request { actor, idem, command }
        });
        self.handle.submit_many(requests.collect())
    }

    fn set(&self, n: u64, at: Time) {
        self.next.store(n, Ordering::SeqCst);
        self.hand.store(at.0, Ordering::SeqCst);
    }
}

/// An engine that leaves all duties to the script.
#[must_use]
pub fn without_duties() -> Options {
    Options { with_duties: false, readers: 1, ..Options::default() }
}

/// Opens a file with small pages, a small cache and a clock moved by hand.
pub fn open_file(path: &Path) -> Result<(Sqlite, Arc<AtomicI64>), StoreError> {
    open_file_with(path, 0)
}

/// As [`open_file`], with room kept back.
pub fn open_file_with(
    path: &Path,
    ballast_bytes: u64,
) -> Result<(Sqlite, Arc<AtomicI64>), StoreError> {
    let (clock, hand) = Clock::hand(BEGIN);
    let options = armarius_store::Options {
        page_bytes: 4_096,
        checkpoint_pages: CHECKPOINT_PAGES,
        ballast_bytes: Some(ballast_bytes),
        clock,
        ..armarius_store::Options::default()
    };
    Ok((Sqlite::open(path, options)?, hand))
}
