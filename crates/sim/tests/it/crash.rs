//! The process may end at any moment: what was acknowledged is there, nothing is there by half, and
//! work goes on.
//!
//! `strace` kills the driver at its N-th write, sync or other change of a file. A change's tests
//! try points spread over all of them; a soak tries every one.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use armarius_core::ids::{LeaseId, Token};
use armarius_core::reply::Reply;
use armarius_core::rows::Made;
use armarius_core::task::State;
use armarius_engine::EngineError;
use armarius_sim::bench::without_duties;
use armarius_sim::dice::chance;
use armarius_sim::{Bench, Dice, Player, Tape, fan};
use armarius_store::World;

use crate::differential::{equal, sound, ungrouped};
use crate::room::{folder, open_file};
use crate::soak::{is_wanted, sized};
use crate::tracer::{SYNCS, count, driver, run, run_injected};

/// The script that is crashed. It is short, and comes to every card.
pub(crate) const SEED: u64 = 3;
pub(crate) const STEPS: usize = 130;

pub(crate) struct Story {
    pub(crate) tape: Tape,
    /// The world after each number of steps.
    pub(crate) worlds: Vec<World>,
}

pub(crate) fn story() -> &'static Story {
    static STORY: OnceLock<Story> = OnceLock::new();
    STORY.get_or_init(|| {
        let mut worlds = vec![World::default()];
        let tape = Tape::record_watched(SEED, STEPS, |_, memory| worlds.push(memory.dump()));
        Story { tape, worlds }
    })
}

/// The words of a driver that plays the story on a file.
pub(crate) fn words(path: &Path) -> [String; 4] {
    let path = path.display().to_string();
    ["play".to_owned(), path, SEED.to_string(), STEPS.to_string()]
}

pub(crate) fn strs(words: &[String; 4]) -> [&str; 4] {
    words.each_ref().map(String::as_str)
}

/// Points from 1 to `last`: all of them in a soak, else so many, spread evenly.
pub(crate) fn points(last: usize, few: usize) -> Vec<usize> {
    if is_wanted() || last <= few {
        return (1..=last).collect();
    }
    (0..few).map(|n| 1 + n * (last - 1) / (few - 1).max(1)).collect()
}

/// Opens what a killed driver left, and finds how far it came: as far as it said, or one step more.
#[track_caller]
pub(crate) fn come_back(path: &Path, acks: usize, place: &str) -> usize {
    let story = story();
    let (store, _) = open_file(path);
    let found = store.dump().unwrap();
    store.verify_everything().unwrap_or_else(|e| panic!("{place}: {e}"));
    for k in [acks, acks + 1] {
        if story.worlds.get(k).is_some_and(|world| *world == found) {
            return k;
        }
    }
    equal(&story.worlds[acks], &found, &format!("{place}: {acks} steps were acknowledged"));
    unreachable!("it equals neither and differs in nothing");
}

/// Plays the rest of the story through an engine.
pub(crate) fn go_on(path: &Path, from: usize, place: &str) {
    let Story { tape, .. } = story();
    let (store, hand) = open_file(path);
    let bench = Bench::start(Box::new(store), hand, SEED, without_duties()).unwrap();
    for n in from..tape.steps.len() {
        let outcome = match bench.play(n as u64, &tape.steps[n]) {
            Ok(reply) => Ok(reply),
            Err(EngineError::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("{place}: step {n}: {other}"),
        };
        assert_eq!(outcome, tape.outcomes[n], "{place}: step {n}");
    }
    bench.engine.stop().unwrap();
    let (store, _) = open_file(path);
    equal(&tape.world, &store.dump().unwrap(), &format!("{place}: at the end"));
}

/// Kills the driver at the N-th call of a kind; it must be there afterwards as it was acknowledged.
fn kill_at(call: &str, n: usize, born: bool) {
    let place = folder();
    let path = place.path().join("a.db");
    if born {
        drop(open_file(&path));
    }
    let run = run_injected(&strs(&words(&path)), &format!("{call}:signal=KILL:when={n}"), None);
    let text = format!("killed at {call} {n} ({} acknowledged)", run.acks());
    assert_eq!(run.code, None, "{text}: it was not killed: {}", run.complaint);
    let from = come_back(&path, run.acks(), &text);
    go_on(&path, from, &text);
}

/// Kills it at points of a thread's calls: `thread` 0 opens the file, 1 is the lane.
fn sweep(born: bool, thread: usize, few: &[(&str, usize)]) {
    let place = folder();
    let path = place.path().join("a.db");
    if born {
        drop(open_file(&path));
    }
    let counts = count(&strs(&words(&path)), &place.path().join("log"));
    let mut tried = 0;
    for (call, few) in few {
        let last = counts[thread].get(*call).copied().unwrap_or(0);
        // The opening thread comes first: the lane's first calls share their numbers with it.
        let first = if thread == 1 { counts[0].get(*call).copied().unwrap_or(0) } else { 0 };
        for n in points(last, *few).into_iter().filter(|n| *n > first) {
            kill_at(call, n, born);
            tried += 1;
        }
    }
    assert!(tried > 0, "{counts:?}");
}

#[test]
fn a_kill_at_any_write_of_a_new_file_leaves_a_file_that_opens() {
    sweep(
        false,
        0,
        &[("pwrite64", 8), ("fsync", 8), ("fdatasync", 4), ("ftruncate", 3), ("unlink", 1)],
    );
}

#[test]
fn a_kill_at_any_write_of_the_lane_loses_nothing() {
    sweep(true, 1, &[("pwrite64", 36)]);
}

#[test]
fn a_kill_at_any_sync_of_the_lane_loses_nothing() {
    sweep(true, 1, &[("fsync", 24), ("fdatasync", 24), ("ftruncate", 3)]);
}

/// The answer is on its way: the step is done and not acknowledged.
#[test]
fn a_kill_before_the_answer_is_said_leaves_the_step_done() {
    sweep(true, 0, &[("write", 6)]);
}

#[test]
fn the_driver_undisturbed_leaves_the_model_s_world() {
    let place = folder();
    let path = place.path().join("a.db");
    let run = run(&strs(&words(&path)));
    assert_eq!((run.code, run.acks()), (Some(0), story().tape.steps.len()), "{}", run.complaint);
    let (store, _) = open_file(&path);
    equal(&story().tape.world, &store.dump().unwrap(), "undisturbed");
}

#[test]
fn every_commit_is_synced() {
    let place = folder();
    let path = place.path().join("a.db");
    let [_, lane] = count(&strs(&words(&path)), &place.path().join("log"));
    let syncs: usize = SYNCS.iter().filter_map(|call| lane.get(*call)).sum();
    let commits = story().tape.world.commits.len();
    assert!(syncs >= commits, "{commits} commits, {syncs} syncs");
}

/// Under load from several threads: every acknowledged submission is there, every other one wholly
/// or not at all, and asking again with the same key makes nothing twice.
#[test]
fn kills_under_load_lose_nothing_that_was_acknowledged() {
    let place = folder();
    let mut dice = Dice::new(11);
    for life in 0..sized(12, 300) {
        // A file lives several lives, and not so many that looking at all of it takes long.
        let path = place.path().join(format!("{}.db", life / 6));
        let acked = load_until(&path, life, 1 + dice.below(300), |c| c.kill().unwrap());
        let (store, hand) = open_file(&path);
        store.verify_everything().unwrap();
        let world = store.dump().unwrap();
        sound(&world);
        for key in &acked {
            assert!(is_whole(&world, key), "life {life}: {key} was acknowledged and is not there");
        }
        let prefix = format!("op/c/{life}-");
        let known = world.idems.keys().filter(|k| k.starts_with(&prefix)).count();
        let mut player = Player::new(store, hand, 1, 0);
        for n in 0..known + 4 {
            let key = format!("{life}-{n}");
            let before = is_whole(&world, &key);
            let mut step = fan::step(fan::submit(&key, depends(life, n), None));
            step.idem = Some(key.as_str().into());
            let reply = player.play(&step).unwrap().unwrap();
            let Reply::Round { round, repeated, .. } = reply else { panic!("{reply:?}") };
            assert_eq!((round, repeated), (1, before), "life {life}: {key}");
        }
    }
}

fn depends(life: usize, n: usize) -> Vec<armarius_core::address::TaskAddress> {
    if n % 2 == 1 { vec![fan::task(&format!("{life}-{}", n - 1))] } else { Vec::new() }
}

/// Whether everything a submission makes is there.
pub(crate) fn is_whole(world: &World, key: &str) -> bool {
    let Some(idem) = world.idems.get(format!("op/c/{key}").as_str()) else { return false };
    let Made::Round(round, task) = idem.made else { return false };
    let item = world.items.get(&round.item).is_some_and(|i| &*i.key == key);
    let event = world.events.values().any(|e| e.task == Some(task));
    item && event && world.tasks.contains_key(&task) && world.bodies.contains_key(&task)
}

/// Starts a driver under load, ends it after so many acknowledgements, and returns them.
pub(crate) fn load_until(
    path: &Path,
    life: usize,
    acks: usize,
    end: impl FnOnce(&mut Child),
) -> Vec<String> {
    let (path, life) = (path.display().to_string(), life.to_string());
    let mut child = driver(&["load", &path, &life, "4"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut acked = Vec::new();
    let mut line = String::new();
    let mut end = Some(end);
    while out.read_line(&mut line).unwrap() > 0 {
        if let (Some(key), true) = (line.strip_prefix("ack "), line.ends_with('\n')) {
            acked.push(key.trim_end().to_owned());
        }
        line.clear();
        if acked.len() >= acks
            && let Some(end) = end.take()
        {
            end(&mut child);
        }
    }
    child.wait().unwrap();
    assert!(end.is_none(), "the driver ended by itself");
    acked
}

/// Tasks that wait for one: enough for many pieces.
fn dependents() -> usize {
    sized(1_200, 2_000)
}

/// A file in which many wait for one task.
fn crowded(path: &Path) {
    let (store, hand) = open_file(path);
    let mut player = Player::new(store, hand, 1, 0);
    for steps in fan::steps(dependents()).chunks(200) {
        assert!(player.play_together(steps).unwrap().iter().all(Result::is_ok));
    }
}

/// What follows from one fact is done piece by piece, and each piece is a commit: whichever of them
/// is the last, the rest is done after the next start, exactly once.
#[test]
fn a_kill_between_the_pieces_of_an_errand_leaves_the_rest_to_do() {
    let place = folder();
    let source = place.path().join("source.db");
    crowded(&source);
    let copy = |name: &str| {
        let path = place.path().join(name);
        std::fs::copy(&source, &path).unwrap();
        path
    };
    let whole = copy("whole.db");
    let words = |path: &Path| ["fan".to_owned(), path.display().to_string()];
    let calls = count(&words(&whole).each_ref().map(String::as_str), &place.path().join("log"));
    let (wanted, order) = ungrouped(&open_file(&whole).0.dump().unwrap());
    let ready: usize = wanted.ready.values().map(std::collections::BTreeMap::len).sum();
    assert_eq!((wanted.errands.len(), ready), (0, dependents()));
    let of = |thread: usize, call: &str| calls[thread].get(call).copied().unwrap_or(0);
    let sync = SYNCS.iter().copied().max_by_key(|call| of(1, call)).unwrap();
    let syncs = of(1, sync);
    assert!(syncs > dependents() / 100, "only {syncs} commits");
    let mut killed = 0;
    for n in points(syncs, 8).into_iter().filter(|n| *n > of(0, sync)) {
        let path = copy(&format!("{n}.db"));
        let words = words(&path);
        let words = words.each_ref().map(String::as_str);
        let run = run_injected(&words, &format!("{sync}:signal=KILL:when={n}"), None);
        // How the last pieces share commits depends on the moment; such a point may not be reached.
        assert!(matches!(run.code, None | Some(0)), "sync {n}: {}", run.complaint);
        killed += usize::from(run.code.is_none());
        finish_fan(&path, run.acks() > 0);
        let world = open_file(&path).0.dump().unwrap();
        sound(&world);
        let (found, other) = ungrouped(&world);
        equal(&wanted, &found, &format!("killed at sync {n}"));
        assert_eq!(order, other, "killed at sync {n}: order of events");
    }
    assert!(killed >= 5, "killed only {killed} times");
}

/// Lets a new engine do what is left. The report is sent again unless it was acknowledged.
fn finish_fan(path: &Path, acked: bool) {
    let (store, hand) = open_file(path);
    let world = store.dump().unwrap();
    let (root, task) = world.tasks.first_key_value().unwrap();
    assert!(!acked || task.state == State::Done, "the report was acknowledged and is not there");
    let (root, state) = (*root, task.state);
    let bench = Bench::start(Box::new(store), hand, 1, fan::piecemeal()).unwrap();
    if state == State::Ready {
        bench.play(0, &fan::claim(1)).unwrap();
    }
    if state != State::Done {
        let lease = LeaseId(chance(1, 0));
        bench.play(1, &fan::report(lease, root, Token(1))).unwrap();
    }
    while fan::has_errand(&bench.handle()).unwrap() {
        std::thread::yield_now();
    }
    bench.engine.stop().unwrap();
}
