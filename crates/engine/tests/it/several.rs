//! Several shards, and several engines on them.

use std::time::Duration;

use armarius_core::command::{Claim, Command, HoldOn};
use armarius_core::event::Commit;
use armarius_core::ids::{BatchId, HoldId, LeaseId, TaskId, Time, shard_of};
use armarius_core::refusal::Code;
use armarius_core::reply::{Reply, Reported};
use armarius_core::rows::Counter;
use armarius_core::task::State;
use armarius_core::view::{Need, View};
use armarius_engine::exit::CORRUPT;
use armarius_engine::seam::{Atlas, Database, Description, Reader, Signals, Store, StoreError};
use armarius_engine::{Engine, EngineError, Fatal, Options, Stage};
use armarius_store::memory::Shards;

use crate::fake::{claim, name};
use crate::floor::{Hallway, given, home, request, submission, told, until};
use crate::groups::code;

#[test]
fn a_command_goes_to_the_shard_of_its_collection() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    for shard in 0..4 {
        let home = hallway.named(shard, 0);
        server.settle(&home);
        let Reply::Round { task, .. } = server.submit(&home, "a", 0) else { panic!("no round") };
        assert_eq!(shard_of(task.0), shard);
        // By number, by address, and by what they made.
        server.call(Command::Prioritise { task, priority: 3 }).unwrap();
        let on = HoldOn::Collection(home.clone());
        let hold = Command::Hold { on, reason: "stop".into(), until: None };
        let Reply::Hold(hold) = server.call(hold).unwrap() else { panic!("no hold") };
        server.call(Command::Release { hold }).unwrap();
        let open = Command::OpenBatch { collection: home.clone(), key: "".into() };
        let Reply::Batch(batch) = server.call(open).unwrap() else { panic!("no batch") };
        server.call(Command::SealBatch { batch }).unwrap();
        let world = hallway.database.dump(shard);
        assert_eq!(world.collections.values().map(|c| c.name.clone()).collect::<Vec<_>>(), [home]);
        assert_eq!(world.tasks[&task].priority, 3);
    }
    for _ in 0..4 {
        let granted = server.grant("w").unwrap();
        let beat = Command::Heartbeat { lease: granted.lease, progress: vec![] };
        server.call(beat).unwrap();
        assert_eq!(server.report(&granted), Ok(Reply::Reported(Reported::Applied)));
        assert_eq!(server.report(&granted), Ok(Reply::Reported(Reported::RecordedStale)));
    }
    server.engine.stop().unwrap();
}

#[test]
fn what_is_nowhere_is_refused_as_the_rules_would() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let nobody = name("nobody");
    let reason = || "no".into();
    for (command, wanted) in [
        (submission(&nobody, "a", 0), Code::NoSuchCollection),
        (Command::Cancel { task: TaskId(9), reason: reason() }, Code::NoSuchTask),
        (Command::SealBatch { batch: BatchId(9) }, Code::NoSuchBatch),
        (Command::Release { hold: HoldId(9) }, Code::NoSuchHold),
        (Command::GiveBack { lease: LeaseId(9) }, Code::LeaseOver),
        // A number of a shard that does not exist.
        (Command::Cancel { task: TaskId(99 << 48), reason: reason() }, Code::NoSuchTask),
    ] {
        assert_eq!(code(&server.call(command.clone())), Some(wanted), "{command:?}");
        let (tx, rx) = std::sync::mpsc::channel();
        server.handle.send(request(command), Box::new(move |o| drop(tx.send(o))));
        assert_eq!(code(&rx.recv().unwrap()), Some(wanted));
    }
}

#[test]
fn a_bulk_is_split_and_answered_in_order() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let homes: Vec<_> = (0..4).map(|shard| hallway.named(shard, 0)).collect();
    homes.iter().for_each(|home| server.settle(home));
    let bulk = || {
        let one = |n: usize| submission(&homes[n % 4], &format!("{n}"), 0);
        let mut bulk: Vec<_> = (0..40).map(|n| request(one(n))).collect();
        bulk.insert(7, request(submission(&name("nobody"), "x", 0)));
        bulk
    };
    let (tx, rx) = std::sync::mpsc::channel();
    server.handle.send_many(bulk(), Box::new(move |o| drop(tx.send(o))));
    for outcomes in [server.handle.submit_many(bulk()), rx.recv().unwrap()] {
        assert_eq!(outcomes.len(), 41);
        for (n, outcome) in outcomes.iter().enumerate() {
            let n = if n < 7 { n } else { n.wrapping_sub(1) };
            match outcome {
                Ok(Reply::Round { task, .. }) => assert_eq!(usize::from(shard_of(task.0)), n % 4),
                other => assert_eq!(code(other), Some(Code::NoSuchCollection)),
            }
        }
    }
}

#[test]
fn the_best_head_goes_first_wherever_it_is() {
    let hallway = Hallway::new(8);
    let server = hallway.engine();
    let homes: Vec<_> = (0..8).map(|shard| hallway.named(shard, 0)).collect();
    homes.iter().for_each(|home| server.settle(home));
    for (place, home) in homes.iter().enumerate() {
        let priority = [5, 2, 8, 1, 7, 3, 6, 4][place];
        server.submit(home, &priority.to_string(), priority);
    }
    let order: Vec<String> = (0..8).map(|_| server.take("w").unwrap()).collect();
    let keys: Vec<&str> = order.iter().map(|t| t.split_once('/').unwrap().1).collect();
    assert_eq!(keys, ["8", "7", "6", "5", "4", "3", "2", "1"]);
    assert_eq!(server.take("w"), None);
}

#[test]
fn collections_take_turns_across_shards() {
    let hallway = Hallway::new(2);
    let server = hallway.engine();
    // Three collections in one shard, one in the other: each gets a quarter.
    let mut homes: Vec<_> = (0..3).map(|n| hallway.named(0, n)).collect();
    homes.push(hallway.named(1, 0));
    for home in &homes {
        server.settle(home);
        (0..8).for_each(|n| drop(server.submit(home, &n.to_string(), 0)));
    }
    for _ in 0..8 {
        let mut round: Vec<String> = (0..4).map(|_| server.take("w").unwrap()).collect();
        round.sort();
        let mut wanted: Vec<&str> = homes.iter().map(|h| h.as_str()).collect();
        wanted.sort_unstable();
        let served: Vec<&str> = round.iter().map(|t| t.split_once('/').unwrap().0).collect();
        assert_eq!(served, wanted);
    }
    assert_eq!(server.take("w"), None);
}

#[test]
fn a_claim_for_one_collection_is_tried_there_alone() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let (a, b) = (hallway.named(1, 0), hallway.named(2, 0));
    [&a, &b].into_iter().for_each(|home| server.settle(home));
    server.submit(&a, "x", 9);
    let only = |home: &armarius_core::text::Name| {
        let collections = vec![home.clone()];
        Command::Claim(Claim { collections, ..claim("w", &[]) })
    };
    assert_eq!(server.call(only(&b)), Ok(Reply::Claimed(None)));
    assert_eq!(server.call(only(&name("nobody"))), Ok(Reply::Claimed(None)));
    let reply = server.call(only(&a)).unwrap();
    assert!(matches!(reply, Reply::Claimed(Some(g)) if told(&g) == format!("{a}/x")));
}

#[test]
fn a_waiting_claim_is_woken_by_whichever_shard_gets_work() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let homes: Vec<_> = (0..4).map(|shard| hallway.named(shard, 0)).collect();
    homes.iter().for_each(|home| server.settle(home));
    for home in &homes {
        let (rx, _seat) = server.wait(claim("w", &[]));
        server.parked(1);
        server.submit(home, "a", 0);
        assert_eq!(given(&rx), Some(format!("{home}/a")));
    }
    // One task wakes one of many, and each task one.
    let waiting: Vec<_> = (0..6).map(|n| server.wait(claim(&format!("w{n}"), &[]))).collect();
    server.parked(6);
    let bulk = (0..4).map(|n| request(submission(&homes[n], "b", 0))).collect();
    assert!(server.handle.submit_many(bulk).iter().all(Result::is_ok));
    let got = std::cell::Cell::new(0);
    until(|| {
        got.set(got.get() + waiting.iter().filter(|(rx, _)| rx.try_recv().is_ok()).count());
        got.get() >= 4
    });
    server.parked(2);
    assert_eq!(got.get(), 4);
}

#[test]
fn whoever_gave_up_the_seat_is_granted_nothing_anywhere() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let (a, b) = (hallway.named(0, 0), hallway.named(3, 0));
    [&a, &b].into_iter().for_each(|home| server.settle(home));
    let (gone, seat) = server.wait(claim("gone", &[]));
    let (here, _seat) = server.wait(claim("here", &[]));
    server.parked(2);
    drop(seat);
    server.submit(&a, "1", 0);
    assert_eq!(given(&here), Some(format!("{a}/1")));
    server.submit(&b, "2", 0);
    assert_eq!(server.take("w"), Some(format!("{b}/2")));
    assert!(gone.try_recv().is_err());
    server.engine.stop().unwrap();
}

#[test]
fn at_its_deadline_a_claim_gets_nothing_and_stopping_sends_everyone_home() {
    let hallway = Hallway::new(3);
    let server = hallway.engine();
    server.settle(&hallway.named(1, 0));
    let short = Duration::from_millis(20);
    let got = server.handle.claim_waiting(name("t"), claim("w", &[]), short);
    assert_eq!(got, Ok(None));
    let (rx, _seat) = server.wait(claim("w", &[]));
    server.parked(1);
    server.engine.stop().unwrap();
    assert_eq!(given(&rx), None);
    assert_eq!(server.handle.claim_waiting(name("t"), claim("w", &[]), short), Ok(None));
    let late = server.handle.call(name("t"), None, submission(&hallway.named(1, 0), "a", 0));
    assert_eq!(late, Err(EngineError::Stopped));
}

/// Work that comes through one server wakes a claim that waits at another.
fn woken_from_elsewhere(hallway: &Hallway) {
    let (one, two) = (hallway.engine(), hallway.engine());
    let homes: Vec<_> = (0..4).map(|shard| hallway.named(shard, 0)).collect();
    homes.iter().for_each(|home| one.settle(home));
    for home in &homes {
        let (rx, _seat) = two.wait(claim("w", &[]));
        two.parked(1);
        one.submit(home, "a", 0);
        assert_eq!(given(&rx), Some(format!("{home}/a")));
    }
    // Without waiting, too: what is committed is found.
    one.submit(&homes[2], "b", 0);
    let granted = two.grant("w").unwrap();
    assert_eq!(home(&granted), 2);
    // And the report may go through the other one.
    assert_eq!(one.report(&granted), Ok(Reply::Reported(Reported::Applied)));
}

#[test]
fn work_of_another_server_is_heard_of() {
    woken_from_elsewhere(&Hallway::new(4));
}

#[test]
fn work_of_another_server_is_found_by_looking() {
    woken_from_elsewhere(&Hallway::silent(4));
}

#[test]
fn a_shard_in_use_is_skipped_until_nothing_else_is_left() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let (best, other) = (hallway.named(1, 0), hallway.named(2, 0));
    [&best, &other].into_iter().for_each(|home| server.settle(home));
    server.submit(&best, "best", 9);
    server.submit(&other, "other", 1);
    let mut elsewhere = hallway.database.open(1).unwrap();
    elsewhere.begin(&mut View::new(1)).unwrap();
    assert_eq!(server.take("w"), Some(format!("{other}/other")));
    let (rx, _seat) = server.wait(claim("w", &[]));
    // It stands in the line of the shard in use, and is answered when that is free.
    assert!(rx.recv_timeout(Duration::from_millis(50)).is_err());
    elsewhere.abandon();
    assert_eq!(given(&rx), Some(format!("{best}/best")));
}

#[test]
fn idle_lanes_cost_nothing() {
    let hallway = Hallway::by_hand(16);
    let (server, clock) = hallway.engine_by_hand();
    let home = hallway.named(5, 0);
    server.settle(&home);
    server.submit(&home, "a", 0);
    let (rx, _seat) = server.wait(claim("w", &["none"]));
    drop(rx);
    // Once everybody has seen what they wanted to see, time may pass and nobody begins anything.
    until(|| {
        let before = hallway.database.begins();
        for _ in 0..100 {
            clock.advance(Duration::from_secs(1));
            std::thread::sleep(Duration::from_millis(1));
        }
        hallway.database.begins() == before
    });
}

#[test]
fn the_lease_of_a_dead_server_is_ended_by_another() {
    let hallway = Hallway::by_hand(4);
    let (one, _) = hallway.engine_by_hand();
    let home = hallway.named(3, 0);
    one.settle(&home);
    one.submit(&home, "a", 0);
    let granted = one.grant("w").unwrap();
    drop(one);
    let (two, clock) = hallway.engine_by_hand();
    // A restart does not extend a lease: time went on meanwhile, and others could have renewed it.
    hallway.pass(Duration::from_secs(20));
    let expires = || hallway.database.dump(3).leases[&granted.lease].expires_at;
    let before = expires();
    for _ in 0..5 {
        clock.advance(Duration::from_secs(1));
        hallway.pass(Duration::from_secs(1));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(expires(), before);
    until(|| {
        clock.advance(Duration::from_secs(1));
        hallway.pass(Duration::from_secs(1));
        std::thread::sleep(Duration::from_millis(2));
        let world = hallway.database.dump(3);
        world.leases.is_empty() && world.tasks[&granted.tasks[0].task].state == State::Ready
    });
    assert_eq!(two.take("w"), Some(format!("{home}/a")));
    assert_eq!(two.report(&granted), Ok(Reply::Reported(Reported::RecordedStale)));
}

#[test]
fn leases_get_a_fresh_term_when_nobody_could_renew_them() {
    let hallway = Hallway::by_hand(4);
    let (server, clock) = hallway.engine_by_hand();
    let home = hallway.named(2, 0);
    server.settle(&home);
    server.submit(&home, "a", 0);
    let granted = server.grant("w").unwrap();
    let settled = server.handle.stats().commits;
    assert!(settled >= 4);
    hallway.database.set_away(true);
    let beat = Command::Heartbeat { lease: granted.lease, progress: vec![] };
    // A claim is answered by a look at all shards, so the watch has noticed; then more time passes
    // than the lease has.
    let asked = server.call(Command::Claim(claim("x", &[])));
    assert!(matches!(asked, Err(EngineError::Unavailable(_))), "{asked:?}");
    clock.advance(Duration::from_secs(40));
    assert!(matches!(server.call(beat.clone()), Err(EngineError::Unavailable(_))));
    hallway.pass(Duration::from_secs(40));
    hallway.database.set_away(false);
    until(|| {
        clock.advance(Duration::from_secs(1));
        std::thread::sleep(Duration::from_millis(2));
        let world = hallway.database.dump(2);
        world.leases.get(&granted.lease).is_some_and(|l| l.expires_at > hallway.now())
    });
    assert!(matches!(server.call(beat), Ok(Reply::Renewed { .. })));
    assert_eq!(server.report(&granted), Ok(Reply::Reported(Reported::Applied)));
}

#[test]
fn the_epoch_is_raised_everywhere() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    assert_eq!(server.call(Command::RaiseEpoch), Ok(Reply::Ok));
    for shard in 0..4 {
        let epoch = hallway.database.dump(shard).counters.get(&Counter::Epoch).copied();
        assert_eq!(epoch, Some(1), "shard {shard}");
    }
}

#[test]
fn many_callers_and_two_servers_leave_nothing_twice_and_nothing_behind() {
    let hallway = Hallway::new(4);
    let servers = [hallway.engine(), hallway.engine()];
    let homes: Vec<_> = (0..6).map(|n| hallway.named(n % 4, usize::from(n / 4))).collect();
    homes.iter().for_each(|home| servers[0].settle(home));
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|w| {
                let (server, worker) = (&servers[w % 2], format!("w{w}"));
                scope.spawn(move || {
                    let mut done = Vec::new();
                    let second = Duration::from_secs(2);
                    while let Some(granted) = server
                        .handle
                        .claim_waiting(name("tester"), claim(&worker, &[]), second)
                        .unwrap()
                    {
                        assert_eq!(server.report(&granted), Ok(Reply::Reported(Reported::Applied)));
                        done.push(told(&granted));
                    }
                    done
                })
            })
            .collect();
        for n in 0..300 {
            servers[n % 2].submit(&homes[n % 6], &n.to_string(), 0);
        }
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect::<Vec<_>>()
    });
    let mut unique = done.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((done.len(), unique.len()), (300, 300));
}

#[test]
fn a_question_reaches_all_shards() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let homes: Vec<_> = (0..4).map(|shard| hallway.named(shard, 0)).collect();
    for home in &homes {
        server.settle(home);
        server.submit(home, "a", 0);
        server.submit(home, "b", 0);
    }
    while server.grant("w").is_some() {}
    let (names, leases, tasks) = server
        .handle
        .question(|reader| {
            let mut view = View::new(0);
            let need = armarius_core::view::Need::DueLease((), None, 3);
            reader.look(&[need], &mut view, true)?;
            let names = view.collections.iter().count();
            let leases = view.due_leases.first(&(), 3).map(Iterator::count).unwrap_or(0);
            let filter = armarius_engine::seam::TaskFilter { max: 5, ..Default::default() };
            Ok((names, leases, reader.tasks(&filter)?.len()))
        })
        .unwrap();
    assert_eq!((names, leases, tasks), (4, 3, 5));
    let commits = server.handle.question_in(2, |reader| reader.commits(0, 100)).unwrap();
    assert!(commits.len() > 3);
}

#[test]
fn a_busy_robot_is_said_only_when_no_shard_has_a_free_one() {
    let hallway = Hallway::new(4);
    let server = hallway.engine();
    let homes = [hallway.named(1, 0), hallway.named(3, 0)];
    for home in &homes {
        server.settle_with(home, |flow| flow.singleton = true);
        server.submit(home, "a", 0);
        server.submit(home, "b", 0);
    }
    let robot = || {
        let steps = vec![(name("f"), name("s"))];
        server.call(Command::Claim(Claim { steps, ..claim("robot", &[]) }))
    };
    let mut got = Vec::new();
    for _ in &homes {
        let Ok(Reply::Claimed(Some(granted))) = robot() else { panic!("no grant") };
        got.push(home(&granted));
    }
    got.sort_unstable();
    assert_eq!(got, [1, 3]);
    assert_eq!(code(&robot()), Some(Code::RobotBusy));
    // One that asks for anything is told of nothing.
    assert_eq!(server.take("anybody"), None);
}

#[test]
fn a_shard_that_cannot_be_trusted_ends_the_whole_engine() {
    let (tx, told) = std::sync::mpsc::channel();
    let hallway = Hallway::new(4);
    let healthy = hallway.engine();
    let (good, bad) = (hallway.named(1, 0), hallway.named(2, 0));
    [&good, &bad].into_iter().for_each(|home| healthy.settle(home));
    let database = Rotten { database: hallway.database, shard: 2 };
    let options = Options {
        on_fatal: Some(Box::new(move |fatal: &Fatal| tx.send(fatal.code).unwrap())),
        ..Options::default()
    };
    let engine = Engine::start_all(&database, options).unwrap();
    let handle = engine.handle();
    let call = |command| handle.call(name("tester"), None, command);
    // The other lane may have noticed before anybody asked: it looks at what it has not seen.
    drop(call(submission(&good, "a", 0)));
    assert_eq!(call(submission(&bad, "b", 0)), Err(EngineError::Stopped));
    assert_eq!(told.recv().unwrap(), CORRUPT);
    until(|| call(submission(&good, "c", 0)) == Err(EngineError::Stopped));
    assert!(matches!(handle.stage(), Stage::Failed(fatal) if fatal.code == CORRUPT));
    assert_eq!(engine.stop().unwrap_err().code, CORRUPT);
    assert!(told.recv().is_err(), "it is said once");
}

/// A database one shard of which contradicts itself.
struct Rotten {
    database: Shards,
    shard: u16,
}

impl Database for Rotten {
    fn shards(&self) -> u16 {
        self.database.shards()
    }

    fn open(&self, shard: u16) -> Result<Box<dyn Store>, StoreError> {
        let store = self.database.open(shard)?;
        Ok(if shard == self.shard { Box::new(Mould(store)) } else { store })
    }

    fn atlas(&self) -> Result<Box<dyn Atlas>, StoreError> {
        self.database.atlas()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Database::reader(&self.database)
    }

    fn signals(&self) -> Result<Option<Box<dyn Signals>>, StoreError> {
        self.database.signals()
    }

    fn describe(&self) -> Description {
        Database::describe(&self.database)
    }
}

struct Mould(Box<dyn Store>);

impl Store for Mould {
    fn begin(&mut self, _: &mut View) -> Result<Time, StoreError> {
        Err(StoreError::Corrupt("mould".to_owned()))
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.0.load(needs, view)
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        self.0.commit(view, commit)
    }

    fn abandon(&mut self) {
        self.0.abandon();
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }

    fn describe(&self) -> Description {
        self.0.describe()
    }
}
