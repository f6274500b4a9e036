//! The same script leaves the same world, whoever plays it and however.
//!
//! Compared is everything a store keeps: rows, lists, events, commits. Where commands are grouped
//! differently, the commit rows differ and nothing else does: the rows, the lists, every event with
//! its hash, and the order in which the commits bring the events.

use std::collections::BTreeMap;
use std::sync::Arc;

use armarius_core::command::Command;
use armarius_core::event::Event;
use armarius_core::ids::ItemId;
use armarius_core::invariants;
use armarius_engine::seam::Store;
use armarius_engine::{EngineError, Options};
use armarius_sim::bench::without_duties;
use armarius_sim::script::{BEGIN, Outcome};
use armarius_sim::{Bench, Dice, Pilot, Player, Step, Tape, fan};
use armarius_store::conformance::cluster::Cluster;
use armarius_store::{Clock, Memory, Postgres, World, postgres};

use crate::room::{folder, open_file};
use crate::soak::seeds;
use crate::watched::Watched;

/// Steps of a script here.
const STEPS: usize = 250;
/// Worlds are compared after so many steps.
const EVERY: usize = 50;

/// Panics with the first few differences.
#[track_caller]
pub(crate) fn equal(left: &World, right: &World, place: &str) {
    let found = left.differences(right);
    let shown = found.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(found.is_empty(), "{place}: {} differences\n{shown}", found.len());
}

/// What is left of a world when it does not matter how commands were grouped.
pub(crate) fn ungrouped(world: &World) -> (World, Vec<(ItemId, i64)>) {
    let order = world.commits.values().flat_map(|c| c.events.clone()).collect();
    (World { commits: BTreeMap::new(), ..world.clone() }, order)
}

/// What must hold in every world.
#[track_caller]
pub(crate) fn sound(world: &World) {
    let wrong = complaints(world);
    assert!(wrong.is_empty(), "broken: {wrong:#?}");
}

/// What contradicts itself in a world.
pub(crate) fn complaints(world: &World) -> Vec<String> {
    let mut streams: BTreeMap<ItemId, Vec<&Event>> = BTreeMap::new();
    for ((item, _), event) in &world.events {
        streams.entry(*item).or_default().push(event);
    }
    let view = world.clone().into_view();
    let mut wrong = invariants::check(&view);
    wrong.extend(invariants::check_history(&view, streams.into_iter()));
    wrong
}

/// Worlds of a tape after every so many steps, each of them sound.
fn milestones(seed: u64) -> (Tape, BTreeMap<usize, World>) {
    let mut worlds = BTreeMap::new();
    let tape = Tape::record_watched(seed, STEPS, |n, memory| {
        if n % EVERY == 0 {
            worlds.insert(n, memory.dump());
        }
    });
    worlds.insert(tape.steps.len(), tape.world.clone());
    worlds.values().for_each(sound);
    (tape, worlds)
}

#[test]
fn a_seed_always_tells_the_same() {
    let (one, two) = (Tape::record(5, STEPS), Tape::record(5, STEPS));
    assert_eq!(one.steps, two.steps);
    assert_eq!(one.outcomes, two.outcomes);
    equal(&one.world, &two.world, "seed 5 twice");
}

/// A test of everything must come to everything: each command answered well at least once.
#[test]
fn scripts_come_to_every_kind_of_command() {
    let mut done: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut errands = 0;
    for seed in 0..40 {
        let tape = Tape::record(seed, STEPS);
        errands += tape.world.counters.get(&armarius_core::rows::Counter::Errand).unwrap_or(&0);
        for (step, outcome) in tape.steps.iter().zip(&tape.outcomes) {
            let name = format!("{:?}", step.command);
            let name = name.split([' ', '(']).next().unwrap_or_default().to_owned();
            let count = done.entry(name).or_default();
            count.0 += usize::from(outcome.is_ok());
            count.1 += 1;
        }
    }
    let never: Vec<_> = done.iter().filter(|(_, (ok, _))| *ok == 0).collect();
    assert!(never.is_empty(), "always refused: {never:?}");
    // All kinds of `Command`.
    assert_eq!(done.len(), 53, "{done:#?}");
    assert!(errands > 4, "only {errands} errands");
}

#[test]
fn memory_and_sqlite_agree_without_an_engine() {
    for seed in seeds(3) {
        let (tape, worlds) = milestones(seed);
        let place = folder();
        let (store, hand) = open_file(&place.path().join("a.db"));
        let mut player = Player::new(store, hand, seed, 0);
        for (n, step) in tape.steps.iter().enumerate() {
            let outcome = player.play(step).unwrap();
            assert_eq!(outcome, tape.outcomes[n], "seed {seed}, step {n}: {step:?}");
            if let Some(world) = worlds.get(&(n + 1)) {
                let after = format!("seed {seed} after {} steps", n + 1);
                equal(world, &player.store.dump().unwrap(), &after);
            }
        }
        player.store.verify_everything().unwrap();
        assert_eq!(player.store.verify_pages().unwrap(), Vec::<String>::new());
    }
}

/// Two servers on one database take turns, each with what it remembers.
#[test]
fn memory_and_a_shared_database_agree_without_an_engine() {
    for seed in seeds(2) {
        let (tape, worlds) = milestones(seed);
        let url = Cluster::shared().fresh_url();
        let (clock, hand) = Clock::hand(BEGIN);
        let open = || {
            let options = postgres::Options { clock: clock.clone(), ..Default::default() };
            Postgres::open(&url, 0, options).unwrap()
        };
        let player = |store| Player::new(store, Arc::clone(&hand), seed, 0);
        let mut servers = [player(open()), player(open())];
        let mut dice = Dice::new(seed);
        for (n, step) in tape.steps.iter().enumerate() {
            let server = &mut servers[dice.below(2)];
            server.go_to(n as u64);
            let outcome = server.play(step).unwrap();
            assert_eq!(outcome, tape.outcomes[n], "seed {seed}, step {n}: {step:?}");
            if let Some(world) = worlds.get(&(n + 1)) {
                let after = format!("seed {seed} after {} steps", n + 1);
                equal(world, &servers[0].store.dump().unwrap(), &after);
            }
        }
        servers[1].store.verify_everything().unwrap();
    }
}

/// An answer of the engine in the words of the model.
pub(crate) fn plain(outcome: armarius_engine::Outcome) -> Outcome {
    match outcome {
        Ok(reply) => Ok(reply),
        Err(EngineError::Refused(refusal)) => Err(refusal),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_engine_on_memory_agrees() {
    for seed in seeds(3) {
        let tape = Tape::record(seed, STEPS);
        let (clock, hand) = Clock::hand(BEGIN);
        let (memory, watch) = Watched::new(Memory::with_clock(clock));
        let bench = Bench::start(Box::new(memory), hand, seed, without_duties()).unwrap();
        for (n, step) in tape.steps.iter().enumerate() {
            assert_eq!(plain(bench.play(n as u64, step)), tape.outcomes[n], "{seed} {n}: {step:?}");
        }
        bench.engine.stop().unwrap();
        equal(&tape.world, &watch.with(Memory::dump), &format!("seed {seed}"));
    }
}

/// Commands from which on commits are made while the next ones are decided: always, or as usual.
fn flying(min: usize) -> Options {
    Options { fly_commands_min: min, ..without_duties() }
}

#[test]
fn the_engine_on_sqlite_agrees_also_after_restarts() {
    for seed in seeds(3) {
        let (tape, worlds) = milestones(seed);
        let place = folder();
        let path = place.path().join("a.db");
        let mut dice = Dice::new(seed);
        let mut from = 0;
        while from < tape.steps.len() {
            let upto = (from + 1 + dice.below(120)).min(tape.steps.len());
            let (store, hand) = open_file(&path);
            let options = flying(1 + 100 * dice.below(2));
            let bench = Bench::start(Box::new(store), hand, seed, options).unwrap();
            for n in from..upto {
                let outcome = plain(bench.play(n as u64, &tape.steps[n]));
                assert_eq!(outcome, tape.outcomes[n], "{seed} {n}: {:?}", tape.steps[n]);
            }
            bench.engine.stop().unwrap();
            from = upto;
            if let Some(world) = worlds.get(&from) {
                let (store, _) = open_file(&path);
                equal(world, &store.dump().unwrap(), &format!("seed {seed} after {from} steps"));
            }
        }
        let (store, _) = open_file(&path);
        equal(&tape.world, &store.dump().unwrap(), &format!("seed {seed}"));
        store.verify_everything().unwrap();
    }
}

/// A cache must never change a decision: it is forgotten at random moments, or always, or never.
#[test]
fn forgetting_changes_nothing() {
    for seed in seeds(3) {
        let tape = Tape::record(seed, STEPS);
        for often in [1, 7] {
            let mut dice = Dice::new(seed);
            let (clock, hand) = Clock::hand(BEGIN);
            let mut player = Player::new(Memory::with_clock(clock), hand, seed, 0);
            for (n, step) in tape.steps.iter().enumerate() {
                let outcome = player.play(step).unwrap();
                assert_eq!(outcome, tape.outcomes[n], "{seed} {n} {often}: {step:?}");
                if dice.once_in(often) {
                    player.forget();
                }
            }
            equal(&tape.world, &player.store.dump(), &format!("seed {seed}, once in {often}"));
        }
    }
}

/// Deciding on top of a commit that the store does not show yet, or already shows, changes nothing.
#[test]
fn a_commit_under_way_changes_nothing() {
    for seed in seeds(6) {
        let (clock, _) = Clock::hand(BEGIN);
        let mut pilot = Pilot::new(Memory::with_clock(clock), seed).unwrap();
        let tape = Tape::record(seed, STEPS);
        for (n, step) in tape.steps.iter().enumerate() {
            let outcome = pilot.play(step).unwrap();
            assert_eq!(outcome, tape.outcomes[n], "{seed} {n}: {step:?}");
        }
        pilot.land().unwrap();
        equal(&tape.world, &pilot.store.dump(), &format!("seed {seed}"));
    }
}

/// What is loaded because a command behind will want it changes no decision.
#[test]
fn foreseeing_changes_nothing() {
    for seed in seeds(3) {
        let tape = Tape::record(seed, STEPS);
        let (clock, hand) = Clock::hand(BEGIN);
        let mut plain = Player::new(Memory::with_clock(clock), hand, seed, 0);
        let (clock, hand) = Clock::hand(BEGIN);
        let mut foreseeing = Player::new(Memory::with_clock(clock), hand, seed, 0);
        for (from, steps) in groups(&tape) {
            let outcomes = foreseeing.play_foreseen(steps).unwrap();
            assert_eq!(outcomes, plain.play_together(steps).unwrap(), "{seed} {from}");
            if from % 3 == 0 {
                foreseeing.forget();
            }
        }
        equal(&plain.store.dump(), &foreseeing.store.dump(), &format!("seed {seed}"));
    }
}

/// A queue of which only the front is known: claims and newcomers on both sides of where the known
/// stretch ends.
#[test]
fn a_deep_queue_is_served_in_order_whatever_is_remembered() {
    for seed in seeds(2) {
        let steps = deep(seed);
        let (clock, hand) = Clock::hand(BEGIN);
        let mut keeping = Player::new(Memory::with_clock(clock), hand, seed, 0);
        let (clock, hand) = Clock::hand(BEGIN);
        let mut forgetting = Player::new(Memory::with_clock(clock), hand, seed, 0);
        for (n, step) in steps.iter().enumerate() {
            let outcome = keeping.play(step).unwrap();
            assert_eq!(outcome, forgetting.play(step).unwrap(), "seed {seed}, step {n}: {step:?}");
            forgetting.forget();
        }
        equal(&keeping.store.dump(), &forgetting.store.dump(), &format!("seed {seed}"));
        sound(&keeping.store.dump());
    }
}

/// Many ready tasks of several priorities, then claims and submissions in turn.
fn deep(seed: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let mut steps = fan::home();
    let submit = |n: usize, dice: &mut Dice| {
        let mut command = fan::submit(&format!("i{n}"), Vec::new(), None);
        if let Command::Submit(submit) = &mut command {
            submit.priority = i32::try_from(dice.below(3)).ok();
        }
        fan::step(command)
    };
    steps.extend((0..250).map(|n| submit(n, &mut dice)));
    for n in 250..350 {
        steps.push(submit(n, &mut dice));
        let max = 1 + dice.below(5);
        steps.push(fan::claim(u32::try_from(max).unwrap()));
    }
    steps
}

#[test]
fn grouping_changes_only_the_commits() {
    for seed in seeds(3) {
        let tape = Tape::record(seed, STEPS);
        let place = folder();
        let (sqlite, hand) = open_file(&place.path().join("a.db"));
        let sqlite = together(sqlite, hand, &tape, |s| s.dump().unwrap());
        let (clock, hand) = Clock::hand(BEGIN);
        let memory = together(Memory::with_clock(clock), hand, &tape, Memory::dump);
        equal(&memory, &sqlite, &format!("seed {seed} grouped"));
        assert!(memory.commits.len() < tape.world.commits.len());
        let (one, order) = ungrouped(&tape.world);
        let (many, other) = ungrouped(&memory);
        equal(&one, &many, &format!("seed {seed} grouped and one by one"));
        assert_eq!(order, other, "seed {seed}: order of events");
        sound(&memory);
    }
}

/// Plays a tape in groups of one moment each.
fn together<S: Store>(
    store: S,
    hand: std::sync::Arc<std::sync::atomic::AtomicI64>,
    tape: &Tape,
    dump: impl Fn(&S) -> World,
) -> World {
    let mut player = Player::new(store, hand, tape.seed, 0);
    for (from, steps) in groups(tape) {
        let outcomes = player.play_together(steps).unwrap();
        assert_eq!(outcomes, tape.outcomes[from..from + steps.len()], "{} {from}", tape.seed);
    }
    dump(&player.store)
}

#[test]
fn bulks_through_the_engine_change_only_the_commits() {
    for seed in seeds(3) {
        let tape = Tape::record(seed, STEPS);
        let place = folder();
        let path = place.path().join("a.db");
        let (store, hand) = open_file(&path);
        let bench = Bench::start(Box::new(store), hand, seed, flying(2)).unwrap();
        for (from, steps) in groups(&tape) {
            let outcomes = bench.play_together(from as u64, steps);
            let outcomes: Vec<Outcome> = outcomes.into_iter().map(plain).collect();
            assert_eq!(outcomes, tape.outcomes[from..from + steps.len()], "{seed} {from}");
        }
        bench.engine.stop().unwrap();
        let (store, _) = open_file(&path);
        let (one, order) = ungrouped(&tape.world);
        let (many, other) = ungrouped(&store.dump().unwrap());
        equal(&one, &many, &format!("seed {seed} in bulks"));
        assert_eq!(order, other, "seed {seed}: order of events");
    }
}

/// Runs of steps at one moment, of random lengths, with the number of the first.
fn groups(tape: &Tape) -> Vec<(usize, &[Step])> {
    let mut dice = Dice::new(tape.seed);
    let mut groups = Vec::new();
    let mut from = 0;
    while from < tape.steps.len() {
        let longest = 1 + dice.below(12);
        let at = tape.steps[from].at;
        let run = tape.steps[from..].iter().take(longest).take_while(|s| s.at == at).count();
        groups.push((from, &tape.steps[from..from + run]));
        from += run;
    }
    groups
}
