//! Situations with a name, through the engine, on memory and on SQLite.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use armarius_core::command::{Command, HoldOn};
use armarius_core::ids::{BatchId, TaskId};
use armarius_core::refusal::Code;
use armarius_core::reply::{Granted, Reply};
use armarius_core::rows::BatchState;
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_engine::seam::Store;
use armarius_engine::{EngineError, Options};
use armarius_sim::bench::without_duties;
use armarius_sim::script::BEGIN;
use armarius_sim::{Bench, Step, fan};
use armarius_store::{Clock, Memory, Sqlite, World};

use crate::differential::sound;
use crate::room::{folder, open_file};
use crate::soak::sized;
use crate::watched::{Watch, Watched};

/// Rows of the largest commit while a large errand runs: one piece of it, derived rows counted, and
/// what somebody else asked meanwhile.
const COMMIT_ROWS_MAX: usize = 1_200;

/// A store that can show everything it holds.
trait Shown: Store + Send + 'static {
    fn world(&self) -> World;
}

impl Shown for Memory {
    fn world(&self) -> World {
        self.dump()
    }
}

impl Shown for Sqlite {
    fn world(&self) -> World {
        self.dump().unwrap()
    }
}

/// Runs the same on every store.
fn on_each(test: impl Fn(&'static str, Setting)) {
    let (clock, hand) = Clock::hand(BEGIN);
    test("memory", Setting::Memory(Memory::with_clock(clock), hand));
    let place = folder();
    let (store, hand) = open_file(&place.path().join("a.db"));
    test("sqlite", Setting::Sqlite(Box::new(store), hand));
}

enum Setting {
    Memory(Memory, Arc<AtomicI64>),
    Sqlite(Box<Sqlite>, Arc<AtomicI64>),
}

/// A running engine and a window on its store.
struct Stand {
    bench: Bench,
    watch: Window,
}

enum Window {
    Memory(Watch<Memory>),
    Sqlite(Watch<Sqlite>),
}

impl Setting {
    fn start(self, options: Options) -> Stand {
        match self {
            Self::Memory(store, hand) => {
                let (store, watch) = Watched::new(store);
                let bench = Bench::start(Box::new(store), hand, 1, options).unwrap();
                Stand { bench, watch: Window::Memory(watch) }
            }
            Self::Sqlite(store, hand) => {
                let (store, watch) = Watched::new(*store);
                let bench = Bench::start(Box::new(store), hand, 1, options).unwrap();
                Stand { bench, watch: Window::Sqlite(watch) }
            }
        }
    }
}

impl Stand {
    fn world(&self) -> World {
        match &self.watch {
            Window::Memory(watch) => watch.with(Shown::world),
            Window::Sqlite(watch) => watch.with(Shown::world),
        }
    }

    fn take(&self) -> crate::watched::Seen {
        match &self.watch {
            Window::Memory(watch) => watch.take(),
            Window::Sqlite(watch) => watch.take(),
        }
    }

    fn fail(&self, commits: usize) {
        match &self.watch {
            Window::Memory(watch) => watch.fail(commits),
            Window::Sqlite(watch) => watch.fail(commits),
        }
    }

    /// Plays steps in bulks and wants every one of them answered well.
    fn must(&self, steps: &[Step]) -> Vec<Reply> {
        let outcomes = steps.chunks(1_000).flat_map(|s| self.bench.play_together(1, s));
        outcomes.map(Result::unwrap).collect()
    }

    /// Claims until there is no more, and reports success for everything.
    fn work_off(&self) -> usize {
        let mut done = 0;
        for n in 100.. {
            let granted = granted(&self.bench.play(n, &fan::claim(100)).unwrap());
            let Some(granted) = granted else { break };
            done += granted.tasks.len();
            self.must(&fan::reports(&granted));
        }
        done
    }

    /// Waits until no errand is pending.
    fn settle(&self) {
        while fan::has_errand(&self.bench.handle()).unwrap() {
            std::thread::yield_now();
        }
    }
}

fn granted(reply: &Reply) -> Option<Granted> {
    match reply {
        Reply::Claimed(granted) => granted.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn submit_and_claim_in_one_group() {
    on_each(|name, setting| {
        let stand = setting.start(without_duties());
        let mut steps = fan::home();
        steps.push(fan::step(fan::submit("a", Vec::new(), None)));
        steps.push(fan::claim(5));
        let replies = stand.must(&steps);
        let granted = granted(replies.last().unwrap()).expect("the task of the same group");
        assert_eq!(granted.tasks.len(), 1, "{name}");
        assert_eq!(stand.take().rows.len(), 1, "{name}: one commit for all");
        let world = stand.world();
        assert_eq!(world.tasks[&granted.tasks[0].task].state, State::Leased);
        sound(&world);
    });
}

#[test]
fn two_claims_in_one_group_share_nothing() {
    on_each(|name, setting| {
        let stand = setting.start(without_duties());
        let mut steps = fan::home();
        steps.extend(["a", "b", "c"].map(|k| fan::step(fan::submit(k, Vec::new(), None))));
        stand.must(&steps);
        stand.take();
        let replies = stand.must(&[fan::claim(2), fan::claim(2), fan::claim(2)]);
        let grants: Vec<Vec<TaskId>> = replies
            .iter()
            .map(|r| granted(r).map_or(Vec::new(), |g| g.tasks.iter().map(|t| t.task).collect()))
            .collect();
        assert_eq!(grants.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 0], "{name}");
        let mut all = grants.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 3, "{name}: {grants:?}");
        assert_eq!(stand.take().rows.len(), 1, "{name}");
        sound(&stand.world());
    });
}

/// A commit fails and nothing of it is there; the engine runs the same commands one by one, and
/// when even that fails, says so. Asked again, everything happens once.
#[test]
fn a_failed_commit_then_the_same_commands_again() {
    on_each(|name, setting| {
        let stand = setting.start(without_duties());
        stand.must(&fan::home());
        let before = stand.world();
        let steps: Vec<Step> = (0..4)
            .map(|n| Step {
                idem: Some(format!("k{n}").into()),
                ..fan::step(fan::submit(&format!("i{n}"), Vec::new(), None))
            })
            .chain([fan::claim(2)])
            .collect();
        // The group, and each command alone.
        stand.fail(1 + steps.len());
        let outcomes = stand.bench.play_together(1, &steps);
        let failed = |o: &armarius_engine::Outcome| {
            // A claim that finds nothing has nothing to commit.
            matches!(o, Err(EngineError::Unavailable(_)) | Ok(Reply::Claimed(None)))
        };
        let failed = outcomes.iter().all(failed);
        assert!(failed, "{name}: {outcomes:?}");
        assert_eq!(before, stand.world(), "{name}: a failed commit left something");
        stand.fail(1);
        let replies = stand.must(&steps);
        let repeated = |r: &Reply| matches!(r, Reply::Round { repeated: true, .. });
        assert!(!replies.iter().any(repeated), "{name}: {replies:?}");
        let again = stand.must(&steps[..4]);
        assert!(again.iter().all(repeated), "{name}: {again:?}");
        let world = stand.world();
        assert_eq!((world.tasks.len(), world.leases.len()), (4, 1), "{name}");
        sound(&world);
    });
}

/// A hold on a collection is one row: a claim passes it without reading what is held.
#[test]
fn a_claim_past_a_held_collection_reads_nothing_of_it() {
    let many = sized(60_000, 1_000_000);
    on_each(|name, setting| {
        let stand = setting.start(Options { cache_rows_max: 1_000, ..without_duties() });
        let mut steps = fan::home();
        let free = Name::trusted("free");
        steps.push(fan::step(Command::PutCollection { name: free.clone(), notify: Vec::new() }));
        let flow = Box::new(fan::flow("one"));
        steps.push(fan::step(Command::ApplyFlow { collection: free.clone(), flow }));
        stand.must(&steps);
        for from in (0..many).step_by(2_000) {
            let upto = many.min(from + 2_000);
            let submits = (from..upto).map(|n| fan::submit(&format!("i{n}"), Vec::new(), None));
            stand.must(&submits.map(fan::step).collect::<Vec<_>>());
        }
        let on = HoldOn::Collection(Name::trusted("c"));
        stand.must(&[fan::step(Command::Hold { on, reason: "wait".into(), until: None })]);
        let Command::Submit(mut submit) = fan::submit("x", Vec::new(), None) else { panic!() };
        submit.item.collection = free;
        stand.must(&[fan::step(Command::Submit(submit))]);
        stand.take();
        let granted = granted(&stand.bench.play(9, &fan::claim(10)).unwrap()).unwrap();
        let seen = stand.take();
        assert_eq!(granted.tasks.len(), 1, "{name}: {granted:?}");
        let rows: usize = seen.loads.values().sum();
        assert!(rows <= 20, "{name}: {seen:?}");
        assert!(seen.loads.get("Ready").is_none_or(|n| *n <= 1), "{name}: {seen:?}");
        let none = stand.bench.play(10, &fan::claim(10)).unwrap();
        assert_eq!(none, Reply::Claimed(None), "{name}");
        let seen = stand.take();
        assert!(seen.loads.values().sum::<usize>() <= 2, "{name}: {seen:?}");
    });
}

/// What follows from one end is done in pieces of a bounded size, others are served between them,
/// and in the end every dependent is ready.
#[test]
fn one_task_with_many_dependents_does_not_stop_the_others() {
    let many = sized(10_000, 100_000);
    on_each(|name, setting| {
        let stand = setting.start(fan::piecemeal());
        stand.must(&fan::steps(many));
        let granted = granted(&stand.bench.play(9, &fan::claim(1)).unwrap()).unwrap();
        stand.take();
        stand.must(&fan::reports(&granted));
        let mut between = 0;
        while fan::has_errand(&stand.bench.handle()).unwrap() {
            let key = format!("other{between}");
            stand.must(&[fan::step(fan::submit(&key, Vec::new(), None))]);
            between += 1;
        }
        let seen = stand.take();
        let largest = seen.rows.iter().max().copied().unwrap_or_default();
        assert!(largest <= COMMIT_ROWS_MAX, "{name}: a commit of {largest} rows");
        assert!(seen.rows.len() > many / 200, "{name}: only {} commits", seen.rows.len());
        assert!(between > 2, "{name}: nobody was served between the pieces");
        let world = stand.world();
        let queue = world.queues.values().next().unwrap();
        let ready = queue.counts[State::Ready.index()];
        assert_eq!(ready, i64::try_from(many + between).unwrap(), "{name}");
        assert!(world.dependents.is_empty() && world.errands.is_empty(), "{name}");
        sound(&world);
    });
}

/// A batch of any size is reported once, with exact counters, after its last member.
#[test]
fn a_large_batch_is_reported_once_and_exactly() {
    let many = sized(20_000, 1_000_000);
    on_each(|name, setting| {
        let stand = setting.start(Options { readers: 1, ..Options::default() });
        stand.must(&fan::home());
        let collection = Name::trusted("c");
        stand.must(&[fan::step(Command::OpenBatch { collection, key: "b".into() })]);
        let batch = BatchId(1);
        for from in (0..many).step_by(2_000) {
            let upto = many.min(from + 2_000);
            let submits =
                (from..upto).map(|n| fan::submit(&format!("i{n}"), Vec::new(), Some(batch)));
            stand.must(&submits.map(fan::step).collect::<Vec<_>>());
        }
        stand.must(&[fan::step(Command::SealBatch { batch })]);
        let late = stand.bench.play(7, &fan::step(fan::submit("late", Vec::new(), Some(batch))));
        let sealed = matches!(&late, Err(EngineError::Refused(r)) if r.code == Code::BatchSealed);
        assert!(sealed, "{name}: {late:?}");
        assert_eq!(stand.work_off(), many, "{name}");
        stand.settle();
        let world = stand.world();
        let row = &world.batches[&batch];
        let total = i64::try_from(many).unwrap();
        assert_eq!(row.state, BatchState::Completed, "{name}: {row:?}");
        let counts = (row.total, row.open, row.done, row.failed, row.cancelled, row.generation);
        assert_eq!(counts, (total, 0, total, 0, 0, 1), "{name}");
        let told = world.events.values().filter(|e| &*e.name == "batch.reported").count();
        let letters: usize = world.letters.values().map(std::collections::BTreeMap::len).sum();
        assert_eq!((told, letters), (1, 1), "{name}");
        sound(&world);
    });
}
