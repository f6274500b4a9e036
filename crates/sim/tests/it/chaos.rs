//! Three servers, ten workers and a PostgreSQL that is stopped, cut off and killed under them.
//!
//! Servers are processes of their own and reach the database through a proxy each. Workers and
//! submitters keep a ledger of what they were told. Faults come one after another, in seeded order,
//! each kind at least once; then everything is healed, the work is finished, and the ledger is held
//! against what the database says:
//!
//! - what was acknowledged is there, once: a submission has one task, a report that was applied is
//!   in the history of its task, under its token;
//! - nothing is there by half: every hash and seal holds, and rows are what the events say;
//! - no two hold the same: of every grant a worker was told of, the history says the same, and no
//!   token was given twice;
//! - nothing is stuck: everything that was accepted is done in the end.

mod crew;
mod ledger;
mod nodes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use armarius_core::ids::TaskId;
use armarius_core::task::State;
use armarius_sim::Dice;
use armarius_store::World;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::{Database, Options};

use crate::differential::complaints;
use crate::room::folder;
use crate::soak::{seeds, sized};
use ledger::Ledger;
use nodes::{Node, Place};

const NODES: usize = 3;
const WORKERS: usize = 10;
const SUBMITTERS: usize = 2;
const SHARDS: u16 = 4;
const COLLECTIONS: usize = 6;
/// How long the work may take to be finished once everything is healed.
const HEAL_MAX: Duration = Duration::from_secs(90);

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// The database's server is stopped as by a crash, and started again.
    CrashDatabase,
    /// Some of its processes are ended.
    EndBackends,
    /// A server is killed, and started again.
    KillNode,
    /// A server's connections to the database are cut.
    CutNode,
    /// A server stands still for longer than a lease lives.
    FreezeNode,
}

const FAULTS: [Fault; 5] =
    [Fault::CrashDatabase, Fault::EndBackends, Fault::KillNode, Fault::CutNode, Fault::FreezeNode];

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_held_twice() {
    for seed in seeds(1).into_iter().take(sized(1, 20)) {
        run(seed, Duration::from_secs(sized(25, 120) as u64));
    }
}

fn run(seed: u64, span: Duration) {
    let cluster = Cluster::start(&[]).unwrap();
    let place = Place::new(folder(), &cluster, SHARDS);
    let nodes: Vec<Node> = (0..NODES).map(|n| Node::start(&place, n)).collect();
    crew::make_collections(&nodes, COLLECTIONS);
    let (ledger, day) = (Ledger::default(), Day::default());
    let faults = std::thread::scope(|scope| {
        for n in 0..SUBMITTERS {
            let (nodes, ledger, day) = (&nodes, &ledger, &day);
            scope.spawn(move || crew::submit(n, seed, nodes, COLLECTIONS, ledger, day));
        }
        // Also when something panics here: nobody may work for ever.
        let _evening = Evening(&day);
        let workers: Vec<_> = (0..WORKERS)
            .map(|n| {
                let (nodes, ledger, day) = (&nodes, &ledger, &day);
                scope.spawn(move || crew::work(n, seed, nodes, ledger, day))
            })
            .collect();
        let faults = torment(seed, span, &cluster, &nodes);
        day.no_more_submissions.store(true, Ordering::SeqCst);
        let ended = finish(&place, &nodes, &ledger);
        day.over.store(true, Ordering::SeqCst);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert!(ended, "seed {seed}: not everything was finished; faults: {faults:?}");
        faults
    });
    drop(nodes);
    let database = Database::open(&place.direct_url(), Options::default()).unwrap();
    let worlds: Vec<World> = (0..SHARDS).map(|shard| sound(&database, shard, seed)).collect();
    let told = ledger.check(&worlds);
    assert!(told.wrong.is_empty(), "seed {seed}, {faults:?}: {:#?}", told.wrong);
    println!("seed {seed}: {faults:?}, {told}");
}

/// When submitters and workers go home.
#[derive(Debug, Default)]
pub(crate) struct Day {
    no_more_submissions: AtomicBool,
    over: AtomicBool,
}

impl Day {
    pub(crate) fn takes_submissions(&self) -> bool {
        !self.no_more_submissions.load(Ordering::SeqCst) && !self.is_over()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

struct Evening<'d>(&'d Day);

impl Drop for Evening<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

/// Does harm for a while, each kind at least once; everything is up again afterwards.
fn torment(seed: u64, span: Duration, cluster: &Cluster, nodes: &[Node]) -> BTreeMap<Fault, usize> {
    let mut dice = Dice::new(seed);
    let mut done: BTreeMap<Fault, usize> = BTreeMap::new();
    let began = Instant::now();
    while began.elapsed() < span || done.len() < FAULTS.len() {
        let mut faults = FAULTS;
        dice.shuffle(&mut faults);
        for fault in faults {
            let pause = dice.between(200, 1_500).unsigned_abs();
            std::thread::sleep(Duration::from_millis(pause));
            harm(fault, &mut dice, cluster, nodes);
            *done.entry(fault).or_default() += 1;
        }
    }
    done
}

fn harm(fault: Fault, dice: &mut Dice, cluster: &Cluster, nodes: &[Node]) {
    let node = &nodes[dice.below(nodes.len())];
    match fault {
        Fault::CrashDatabase => {
            cluster.stop("immediate").unwrap();
            std::thread::sleep(Duration::from_millis(dice.between(0, 1_000).unsigned_abs()));
            cluster.begin().unwrap();
        }
        Fault::EndBackends => {
            let sql = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                       where pid <> pg_backend_pid() and backend_type = 'client backend' \
                       and random() < 0.5";
            // Its own connection may be among those that just ended.
            drop(cluster.sql(sql));
        }
        Fault::KillNode => node.kill_and_restart(),
        Fault::CutNode => node.cut(),
        Fault::FreezeNode => node.freeze(Duration::from_millis(4_000)),
    }
}

/// Waits until everything that was accepted is done; says whether it was.
fn finish(place: &Place, nodes: &[Node], ledger: &Ledger) -> bool {
    let began = Instant::now();
    let database = Database::open(&place.direct_url(), Options::default()).unwrap();
    while began.elapsed() < HEAL_MAX {
        let mut open = ledger.unanswered();
        for shard in 0..SHARDS {
            let world = database.shard(shard).unwrap().dump().unwrap();
            let tasks = world.tasks.values();
            let failed: Vec<TaskId> =
                tasks.clone().filter(|t| t.state == State::Failed).map(|t| t.id).collect();
            open += tasks.filter(|t| t.state != State::Done).count();
            // Whoever lost three workers counts as poison; here it was the workers' fault.
            failed.into_iter().for_each(|task| crew::retry(nodes, task));
        }
        if open == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    false
}

/// A shard's world, after everything in it was verified.
fn sound(database: &Database, shard: u16, seed: u64) -> World {
    let store = database.shard(shard).unwrap();
    store.verify_everything().unwrap_or_else(|e| panic!("seed {seed}, shard {shard}: {e}"));
    let world = store.dump().unwrap();
    let wrong = complaints(&world);
    assert!(wrong.is_empty(), "seed {seed}, shard {shard}: {wrong:#?}");
    world
}
