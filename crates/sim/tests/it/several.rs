//! Several engines at once on one database leave the world that one alone would.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use armarius_engine::EngineError;
use armarius_engine::seam::Database;
use armarius_sim::bench::without_duties;
use armarius_sim::script::BEGIN;
use armarius_sim::{Bench, Dice, Tape};
use armarius_store::conformance::cluster::Cluster;
use armarius_store::memory::Shards;
use armarius_store::{Clock, World};

use crate::differential::{complaints, equal, plain};
use crate::soak::seeds;

/// Steps of a script here.
const STEPS: usize = 250;
/// Engines at once.
const ENGINES: usize = 3;

/// Each step goes through another engine, and every answer and the world are as the model's.
pub(crate) fn one_shard_agrees(
    database: &dyn Database,
    hand: &Arc<AtomicI64>,
    seed: u64,
    dump: impl Fn() -> World,
) {
    let tape = Tape::record(seed, STEPS);
    let engine = |_| Bench::start_all(database, Arc::clone(hand), seed, without_duties()).unwrap();
    let mut engines: Vec<Bench> = (0..ENGINES).map(engine).collect();
    let mut dice = Dice::new(seed);
    for (n, step) in tape.steps.iter().enumerate() {
        let which = dice.below(ENGINES);
        if dice.once_in(40) {
            // One of them is started anew.
            let old = std::mem::replace(&mut engines[which], engine(which));
            old.engine.stop().unwrap();
        }
        let outcome = plain(engines[which].play(n as u64, step));
        assert_eq!(outcome, tape.outcomes[n], "seed {seed}, step {n}, engine {which}: {step:?}");
    }
    engines.into_iter().for_each(|bench| bench.engine.stop().unwrap());
    equal(&tape.world, &dump(), &format!("seed {seed} through {ENGINES} engines"));
}

/// A script spread over shards and engines: everything is answered, and every shard is sound.
pub(crate) fn many_shards_are_sound(
    database: &dyn Database,
    hand: &Arc<AtomicI64>,
    seed: u64,
    dump: impl Fn(u16) -> World,
) {
    let tape = Tape::record(seed, STEPS);
    let engine = |_| Bench::start_all(database, Arc::clone(hand), seed, without_duties()).unwrap();
    let engines: Vec<Bench> = (0..ENGINES).map(engine).collect();
    let mut dice = Dice::new(seed);
    for (n, step) in tape.steps.iter().enumerate() {
        match engines[dice.below(ENGINES)].play(n as u64, step) {
            Ok(_) | Err(EngineError::Refused(_)) => {}
            Err(other) => panic!("seed {seed}, step {n}: {other}: {step:?}"),
        }
    }
    engines.into_iter().for_each(|bench| bench.engine.stop().unwrap());
    for shard in 0..database.shards() {
        let wrong = complaints(&dump(shard));
        assert!(wrong.is_empty(), "seed {seed}, shard {shard}: {wrong:#?}");
    }
}

#[test]
fn engines_on_one_shard_of_memory_agree() {
    for seed in seeds(3) {
        let (clock, hand) = Clock::hand(BEGIN);
        let database = Shards::new(1, clock);
        one_shard_agrees(&database, &hand, seed, || database.dump(0));
    }
}

#[test]
fn engines_on_many_shards_of_memory_are_sound() {
    for seed in seeds(3) {
        let (clock, hand) = Clock::hand(BEGIN);
        let database = Shards::new(4, clock);
        many_shards_are_sound(&database, &hand, seed, |shard| database.dump(shard));
    }
}

/// A fresh database on the machine's PostgreSQL, with a clock moved by hand.
fn postgres(shards: u16) -> (armarius_store::postgres::Database, Arc<AtomicI64>) {
    let (clock, hand) = Clock::hand(BEGIN);
    let url = format!("{}&shards={shards}", Cluster::shared().fresh_url());
    let options = armarius_store::postgres::Options { clock, ..Default::default() };
    (armarius_store::postgres::Database::open(&url, options).unwrap(), hand)
}

#[test]
fn engines_on_one_shard_of_postgres_agree() {
    for seed in seeds(2) {
        let (database, hand) = postgres(1);
        one_shard_agrees(&database, &hand, seed, || database.shard(0).unwrap().dump().unwrap());
    }
}

#[test]
fn engines_on_many_shards_of_postgres_are_sound() {
    for seed in seeds(2) {
        let (database, hand) = postgres(4);
        let dump = |shard| database.shard(shard).unwrap().dump().unwrap();
        many_shards_are_sound(&database, &hand, seed, dump);
    }
}
