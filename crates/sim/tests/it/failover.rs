//! A standby that lost the tail takes over: the servers notice, say so, and go on, and no token is
//! given twice.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use armarius_core::command::{Command, Ending, Report};
use armarius_core::flow::Class;
use armarius_core::reply::{Granted, Reply, Reported};
use armarius_core::rows::Counter;
use armarius_core::text::Name;
use armarius_engine::{Engine, EngineError, Handle, Options, Outcome};
use armarius_sim::fan;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::{self, Database, Patience};

use crate::differential::complaints;
use crate::proxy::Proxy;
use crate::room::folder;

/// How long anything may take to come.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the store waits for anything while the database is away.
const SHORT: Duration = Duration::from_secs(3);

/// Waits until something is there.
#[track_caller]
fn soon<T>(mut get: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = get() {
            return value;
        }
        assert!(began.elapsed() < PATIENCE, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn call(handle: &Handle, command: Command) -> Outcome {
    handle.call(Name::trusted("op"), None, command)
}

/// Asks until the database answers.
#[track_caller]
fn insist(handle: &Handle, command: &Command) -> Reply {
    soon(|| match call(handle, command.clone()) {
        Ok(reply) => Some(reply),
        Err(EngineError::Unavailable(_) | EngineError::OutcomeUnknown(_)) => None,
        Err(other) => panic!("{other}: {command:?}"),
    })
}

fn submit(handle: &Handle, key: &str) {
    insist(handle, &fan::submit(key, Vec::new(), None));
}

fn claim(handle: &Handle) -> Granted {
    match insist(handle, &fan::claim(1).command) {
        Reply::Claimed(Some(granted)) => granted,
        other => panic!("{other:?}"),
    }
}

fn report(granted: &Granted) -> Command {
    let task = &granted.tasks[0];
    Command::Report(Report {
        lease: granted.lease,
        task: task.task,
        token: task.token,
        outcome: Ending::Class(Class::Success),
        detail: None,
        manifest: None,
        last: false,
    })
}

/// Until the standby has everything the primary has.
fn caught_up(primary: &Cluster, standby: &Cluster) {
    let here = place(&primary.sql("select pg_current_wal_lsn()").unwrap());
    soon(|| {
        let there = standby.sql("select pg_last_wal_replay_lsn()").ok()?;
        (place(&there) >= here).then_some(())
    });
}

/// A place in the log, written as two hexadecimal numbers.
fn place(text: &str) -> Option<(u64, u64)> {
    let (file, offset) = text.split_once('/')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    Some((number(file)?, number(offset)?))
}

#[test]
fn a_standby_that_lost_its_tail_is_noticed_and_said() {
    let primary = Cluster::start(&[]).unwrap();
    let place = folder();
    let proxy = Proxy::start(place.path().join("p"), primary.folder(), primary.port());
    let host = proxy.folder.display();
    let url = format!("postgres://postgres@/postgres?host={host}&schema=a&shards=2&notify=off");
    let patience = Patience { connection: SHORT, resolve: SHORT, ..Patience::default() };
    let options = postgres::Options { patience, ..postgres::Options::default() };
    let database = Database::open(&url, options).unwrap();
    let words: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&words);
    let options = Options {
        on_word: Arc::new(move |word| heard.lock().unwrap().push(word.to_owned())),
        ..Options::default()
    };
    let engine = Engine::start_all(&database, options).unwrap();
    let handle = engine.handle();
    fan::home().into_iter().for_each(|step| drop(insist(&handle, &step.command)));
    submit(&handle, "kept");

    // The standby has everything up to here, and nothing of what comes.
    let standby = primary.follow(&[]).unwrap();
    caught_up(&primary, &standby);
    standby.stop("fast").unwrap();
    submit(&handle, "lost");
    let before = claim(&handle);
    assert_eq!(&*before.tasks[0].item.key, "kept");
    assert!(words.lock().unwrap().is_empty());

    primary.stop("immediate").unwrap();
    standby.begin().unwrap();
    standby.promote().unwrap();
    proxy.lead_to(standby.folder());

    // The same task is granted once more, under a token that cannot be mistaken for the old one.
    let after = claim(&handle);
    let said = words.lock().unwrap().clone();
    assert!(said.iter().any(|word| word.contains("epoch of tokens is raised")), "{said:?}");
    println!("{said:#?}");
    assert_eq!(after.tasks[0].task, before.tasks[0].task);
    assert!(after.tasks[0].token > before.tasks[0].token);
    let stale = insist(&handle, &report(&before));
    assert_eq!(stale, Reply::Reported(Reported::RecordedStale));
    assert_eq!(insist(&handle, &report(&after)), Reply::Reported(Reported::Applied));
    // What was lost can be submitted again, and work goes on.
    submit(&handle, "lost");
    let again = claim(&handle);
    assert_eq!(insist(&handle, &report(&again)), Reply::Reported(Reported::Applied));
    engine.stop().unwrap();

    let mut raised = 0;
    for shard in 0..2 {
        let store = database.shard(shard).unwrap();
        store.verify_everything().unwrap();
        let world = store.dump().unwrap();
        assert_eq!(complaints(&world), Vec::<String>::new());
        raised += world.counters.get(&Counter::Epoch).copied().unwrap_or(0);
    }
    assert!(raised >= 1, "no epoch was raised");
}
