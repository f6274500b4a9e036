//! A robot comes to an archive on one server while another one commits events: nobody is forgotten.

use std::time::{Duration, Instant};

use armarius_core::Command;
use armarius_core::address::ItemAddress;
use armarius_core::command::{Claim, Ending, PutItem, Report};
use armarius_core::decide::{query_holds, standing};
use armarius_core::event::Outcome;
use armarius_core::flow::{Class, On, codec};
use armarius_core::reply::Reply;
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_engine::seam::Database;
use armarius_engine::{Engine, Handle, Options, Request};
use armarius_sim::fan;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::memory::Shards;
use armarius_store::{Clock, World};

use crate::differential::complaints;

/// Items of the archive: several pieces of a registration.
const ITEMS: usize = 2_500;
/// Items where workers work along.
const WORKED: usize = 1_500;
/// How long a registration may take, on the busiest of machines.
const PATIENCE: Duration = Duration::from_secs(180);

fn actor() -> Name {
    Name::trusted("op")
}

fn item(n: usize) -> ItemAddress {
    ItemAddress {
        collection: Name::trusted("c"),
        kind: Name::trusted("page"),
        key: format!("p{n}").into(),
    }
}

fn event(n: usize, name: &str, ok: bool) -> Command {
    let outcome = if ok { Outcome::Success } else { Outcome::Failure };
    Command::AddEvent { item: item(n), name: Name::trusted(name), outcome, detail: None }
}

fn robot(version: usize) -> Command {
    let query =
        ["\"success\":[\"scan\"]", "\"success\":[\"scan\"],\"absent\":[\"x\"]"][version % 2];
    let json = format!(
        "{{\"name\":\"ocr\",\"on\":{{\"items\":{{{query}}}}},\"records\":\"ocr\",\
         \"tasks\":[{{\"name\":\"s\",\"run\":\"outside\"}}]}}"
    );
    let flow = Box::new(codec::from_text(&json).unwrap());
    Command::ApplyFlow { collection: Name::trusted("c"), flow }
}

fn send(handle: &Handle, commands: &[Command]) {
    for bulk in commands.chunks(500) {
        let request =
            |command: &Command| Request { actor: actor(), idem: None, command: command.clone() };
        for outcome in handle.submit_many(bulk.iter().map(request).collect()) {
            outcome.unwrap();
        }
    }
}

fn put(n: usize) -> Command {
    let (priority, ordinal, types, attributes) = (None, None, None, None);
    Command::PutItem(PutItem { item: item(n), priority, ordinal, types, attributes })
}

fn lay_down(handle: &Handle) {
    let collection = Command::PutCollection { name: Name::trusted("c"), notify: Vec::new() };
    handle.call(actor(), None, collection).unwrap();
    send(handle, &(0..ITEMS).map(put).collect::<Vec<_>>());
    send(
        handle,
        &(0..ITEMS).filter(|n| n % 3 == 0).map(|n| event(n, "scan", true)).collect::<Vec<_>>(),
    );
}

/// One server registers and changes the robot, the other one commits events that concern it.
fn together(one: &Handle, other: &Handle) {
    lay_down(one);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for version in 0..3 {
                one.call(actor(), None, robot(version)).unwrap();
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        scope.spawn(|| {
            // The last item first: the registration and the news meet in the middle.
            let news = (0..ITEMS).rev().map(|n| match n % 4 {
                0 => event(n, "scan", true),
                1 => event(n, "scan", false),
                2 => event(n, "x", true),
                _ => Command::TouchItem { item: item(n), detail: None },
            });
            send(other, &news.collect::<Vec<_>>());
        });
    });
}

/// Every item that satisfies the robot's query has its task, and no other one has.
fn check(world: &World) {
    assert_eq!(complaints(world), Vec::<String>::new());
    let flow = world.flows.values().find(|flow| &*flow.name == "ocr").unwrap();
    let On::Items(query) = &world.versions[&flow.version].def.on else { panic!("no robot") };
    let mut waiting = 0;
    for item in world.items.values().filter(|item| &*item.kind == "page") {
        let wanted = query_holds(query, item, |name| {
            world.marks.get(&(item.id, name.clone())).and_then(|mark| standing(mark, item))
        });
        let own = world.bodies.values().filter(|body| body.item == item.id);
        let ready = own.filter(|body| world.tasks[&body.id].state == State::Ready).count();
        assert_eq!(ready, usize::from(wanted), "item {}", item.key);
        waiting += ready;
    }
    assert!(waiting > ITEMS / 10, "only {waiting} items wait");
}

/// Waits until no errand is pending.
fn wait(handle: &Handle) {
    let until = Instant::now() + PATIENCE;
    while fan::has_errand(handle).unwrap() {
        assert!(Instant::now() < until, "the registration does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn two_servers_register_and_commit(database: &dyn Database, dump: impl Fn() -> World) {
    let engine = || Engine::start_all(database, Options::default()).unwrap();
    let (one, other) = (engine(), engine());
    together(&one.handle(), &other.handle());
    wait(&one.handle());
    one.stop().unwrap();
    other.stop().unwrap();
    check(&dump());
}

#[test]
fn registration_on_one_server_while_another_commits_forgets_nobody() {
    let database = Shards::new(1, Clock::default());
    two_servers_register_and_commit(&database, || database.dump(0));
}

#[test]
fn registration_while_events_come_on_sqlite_forgets_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = armarius_store::Sqlite::open(&path, armarius_store::Options::small()).unwrap();
    let engine = Engine::start(Box::new(store), Options::default()).unwrap();
    together(&engine.handle(), &engine.handle());
    wait(&engine.handle());
    engine.stop().unwrap();
    let store = armarius_store::Sqlite::open(&path, armarius_store::Options::small()).unwrap();
    check(&store.dump().unwrap());
}

/// A database on the machine's PostgreSQL.
fn postgres(shards: u16) -> armarius_store::postgres::Database {
    let url = format!("{}&shards={shards}", Cluster::shared().fresh_url());
    armarius_store::postgres::Database::open(&url, Default::default()).unwrap()
}

/// The shard that has the items.
fn only_home(database: &armarius_store::postgres::Database) -> World {
    let worlds = (0..database.shards()).map(|n| database.shard(n).unwrap().dump().unwrap());
    worlds.max_by_key(|world| world.items.len()).unwrap()
}

#[test]
fn registration_on_one_server_while_another_commits_forgets_nobody_on_postgres() {
    let database = postgres(2);
    two_servers_register_and_commit(&database, || only_home(&database));
}

/// Claims and reports until it is told that nothing more will come, and nothing more is there.
fn work(handle: &Handle, worker: &str, over: &std::sync::atomic::AtomicBool) -> usize {
    let worker = Name::trusted(worker);
    let mut granted = 0;
    loop {
        let last = over.load(std::sync::atomic::Ordering::SeqCst);
        let claim = Claim {
            worker: worker.clone(),
            labels: Vec::new(),
            steps: Vec::new(),
            collections: Vec::new(),
            ways: Vec::new(),
            max: 50,
        };
        let reply = handle.call(worker.clone(), None, Command::Claim(claim)).unwrap();
        let Reply::Claimed(Some(lease)) = reply else {
            if last {
                return granted;
            }
            std::thread::sleep(Duration::from_millis(25));
            continue;
        };
        granted += lease.tasks.len();
        let report = |t: &armarius_core::reply::GrantedTask| Request {
            actor: worker.clone(),
            idem: None,
            command: Command::Report(Report {
                lease: lease.lease,
                task: t.task,
                token: t.token,
                outcome: Ending::Class(Class::Success),
                detail: None,
                manifest: None,
                last: false,
            }),
        };
        for outcome in handle.submit_many(lease.tasks.iter().map(report).collect()) {
            outcome.unwrap();
        }
    }
}

/// Every item is scanned once, before the robot is registered or while it is, and workers at both
/// servers take what there is: each item is granted exactly once.
fn each_is_granted_once(database: &dyn Database, dump: impl Fn() -> World) {
    let engine = || Engine::start_all(database, Options::default()).unwrap();
    let (one, other) = (engine(), engine());
    let (here, there) = (one.handle(), other.handle());
    let collection = Command::PutCollection { name: Name::trusted("c"), notify: Vec::new() };
    here.call(actor(), None, collection).unwrap();
    send(&here, &(0..WORKED).map(put).collect::<Vec<_>>());
    send(&here, &(0..WORKED).step_by(2).map(|n| event(n, "scan", true)).collect::<Vec<_>>());
    let over = std::sync::atomic::AtomicBool::new(false);
    let granted: usize = std::thread::scope(|scope| {
        let workers = [(&here, "w1"), (&there, "w2")]
            .map(|(handle, name)| scope.spawn(|| work(handle, name, &over)));
        let news = scope.spawn(|| {
            let odd = (0..WORKED).rev().filter(|n| n % 2 == 1);
            send(&there, &odd.map(|n| event(n, "scan", true)).collect::<Vec<_>>());
        });
        here.call(actor(), None, robot(0)).unwrap();
        news.join().unwrap();
        wait(&here);
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    one.stop().unwrap();
    other.stop().unwrap();
    assert_eq!(granted, WORKED);
    let world = dump();
    assert_eq!(complaints(&world), Vec::<String>::new());
    for item in world.items.values().filter(|item| &*item.kind == "page") {
        let events = world.events.range((item.id, 0)..=(item.id, i64::MAX));
        let names: Vec<&str> = events.map(|(_, event)| event.name.as_str()).collect();
        let wanted = ["item.put", "scan", "task.ready", "task.leased", "ocr"];
        assert_eq!(names, wanted, "item {}", item.key);
    }
}

#[test]
fn each_item_is_granted_once_while_two_servers_register_commit_and_work() {
    let database = Shards::new(1, Clock::default());
    each_is_granted_once(&database, || database.dump(0));
}

#[test]
fn each_item_is_granted_once_while_two_servers_register_commit_and_work_on_postgres() {
    let database = postgres(2);
    each_is_granted_once(&database, || only_home(&database));
}
