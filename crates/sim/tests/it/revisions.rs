//! An archive of many revisions: what the next commit costs does not grow. Many archives at once:
//! none waits for another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use armarius_core::command::{
    About, Claim, Command, Definitions, Ending, PlanRevision, PutArchive, Report,
};
use armarius_core::decide::revision_address;
use armarius_core::flow::{Class, Depend, Flow, On, Reference, Step, When};
use armarius_core::ids::{ItemId, Span};
use armarius_core::reply::{Granted, GrantedTask, Reply};
use armarius_core::rows::{ArchiveKind, ItemKey};
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::seam::HistoryLimits;
use armarius_engine::{Engine, Handle, Options};
use armarius_store::Sqlite;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::postgres::Database;

use crate::room::folder;
use crate::soak::sized;

/// How long everything may take.
const PATIENCE: Duration = Duration::from_secs(3_000);
const PATIENCE_SPAN: Span = Span::seconds(3_000);
/// Revisions whose time is taken together, at the beginning and at the end.
const SPAN: usize = 1_000;
/// How often a page of the log is read.
const PAGE_READS: usize = 20;

/// The five tasks of every revision.
fn flow() -> Flow {
    let depend = |on| Depend { on, when: When::Done };
    let mut flow = Flow::manual(Name::trusted("main"));
    flow.on = On::Commit { paths: Vec::new(), ignore_authors: Vec::new() };
    for name in ["index", "check", "pdf", "send", "log"] {
        flow.tasks.push(Step::outside(Name::trusted(name)));
    }
    flow.tasks[0].depends = vec![depend(Reference::Prev)];
    flow.tasks[2].depends = vec![depend(Reference::Task(Name::trusted("index")))];
    flow.tasks[2].cancels = vec![Reference::Prev];
    flow.tasks[3].depends = vec![depend(Reference::Task(Name::trusted("pdf")))];
    flow
}

fn ask(handle: &Handle, actor: &str, command: Command) -> Reply {
    handle.call(Name::trusted(actor), None, command).unwrap()
}

fn plan(handle: &Handle, archive: &Name, revision: i64, flow: &Flow) {
    let about = About { author: "ada".into(), paths: vec!["a.txt".into()], ..About::default() };
    let definitions = Definitions::Flows(vec![flow.clone()]);
    let plan = PlanRevision { archive: archive.clone(), revision, about, definitions };
    ask(handle, "watcher", Command::PlanRevision(Box::new(plan)));
}

fn claim_of(worker: &str) -> Claim {
    Claim {
        worker: Name::trusted(worker),
        labels: Vec::new(),
        steps: Vec::new(),
        collections: Vec::new(),
        ways: Vec::new(),
        max: 10,
    }
}

fn report(handle: &Handle, worker: &str, granted: &Granted, task: &GrantedTask) {
    let report = Report {
        lease: granted.lease,
        task: task.task,
        token: task.token,
        outcome: Ending::Class(Class::Success),
        detail: None,
        manifest: None,
        last: false,
    };
    ask(handle, worker, Command::Report(report));
}

/// Plans a revision and does all of its work.
fn live(handle: &Handle, archive: &Name, revision: i64, flow: &Flow) {
    plan(handle, archive, revision, flow);
    loop {
        let reply = ask(handle, "w", Command::Claim(claim_of("w")));
        let Reply::Claimed(Some(granted)) = reply else { return };
        for task in &granted.tasks {
            report(handle, "w", &granted, task);
        }
    }
}

/// Reads a page of the log as the server does: items, tasks and events of twenty revisions.
fn page(handle: &Handle, archive: &Name, top: i64) -> usize {
    let read = handle.question(|reader| {
        let mut view = View::new(0);
        reader.look(&[], &mut view, true)?;
        let home = view.collection_names.get(archive).unwrap().copied().unwrap();
        let key = |revision| {
            let at = revision_address(archive, revision);
            ItemKey { collection: home, kind: at.kind, key: at.key }
        };
        let keys: Vec<ItemKey> = (top - 19..=top).map(key).collect();
        let needs: Vec<Need> = keys.iter().cloned().map(Need::ItemKey).collect();
        reader.look(&needs, &mut view, false)?;
        let items: Vec<ItemId> =
            keys.iter().map(|key| view.item_keys.get(key).unwrap().copied().unwrap()).collect();
        let needs: Vec<Need> = items.iter().map(|id| Need::Item(*id)).collect();
        reader.look(&needs, &mut view, false)?;
        let limits = HistoryLimits { tasks_max: 4_000, events_max: 20_000 };
        Ok(reader.histories(&items, limits)?.iter().map(|history| history.tasks.len()).sum())
    });
    read.unwrap()
}

/// How long the slowest of some readings of a page takes.
fn page_time(handle: &Handle, archive: &Name, top: i64) -> Duration {
    let read = |_| {
        let began = Instant::now();
        assert_eq!(page(handle, archive, top), 20 * 6);
        began.elapsed()
    };
    (0..PAGE_READS).map(read).max().unwrap_or_default()
}

fn put(handle: &Handle, archive: &Name) {
    let put = PutArchive {
        archive: archive.clone(),
        kind: ArchiveKind::Svn,
        place: "/somewhere".into(),
        branch: "".into(),
        first: 1,
        trusted: true,
        depth_max: None,
    };
    ask(handle, "op", Command::PutArchive(put));
}

/// The mean of some times, in milliseconds.
fn mean(times: &[Duration]) -> f64 {
    times.iter().sum::<Duration>().as_secs_f64() * 1_000.0 / times.len() as f64
}

/// Lives through an archive and says what its beginning, its end and its log cost.
fn grow(store: &str, engine: Engine, revisions: i64) {
    let handle = engine.handle();
    let archive = Name::trusted("books");
    put(&handle, &archive);
    let flow = flow();
    let mut times = Vec::new();
    for revision in 1..=revisions {
        let began = Instant::now();
        live(&handle, &archive, revision, &flow);
        times.push(began.elapsed());
    }
    let sum = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
    let span = SPAN.min(times.len() / 2);
    let (first, last) = (sum(&times[..span]), sum(&times[times.len() - span..]));
    let tenths: Vec<f64> = times.chunks(times.len().div_ceil(10)).map(mean).collect();
    eprintln!("{store}: milliseconds a revision, tenth by tenth: {tenths:.2?}");
    let pages =
        [("first", 20.min(revisions)), ("middle", 20.max(revisions / 2)), ("last", revisions)];
    let pages =
        pages.map(|(name, top)| format!("{name} {:.1?}", page_time(&handle, &archive, top)));
    eprintln!(
        "{store}: {revisions} revisions of 5 tasks: last {span} / first {span} = {:.2}, \
         {:.2} ms each; pages of the log, the slowest of {PAGE_READS}: {}",
        last / first,
        last / span as f64 * 1_000.0,
        pages.join(", ")
    );
    engine.stop().unwrap();
}

fn on_a_file(folder: &tempfile::TempDir) -> Engine {
    let store = Sqlite::open(&folder.path().join("a.db"), armarius_store::Options::default());
    Engine::start(Box::new(store.unwrap()), Options::default()).unwrap()
}

fn on_a_database() -> Engine {
    let url = Cluster::shared().fresh_url();
    let database = Database::open(&url, armarius_store::postgres::Options::default()).unwrap();
    Engine::start_all(&database, Options::default()).unwrap()
}

#[test]
fn the_next_commit_of_a_long_archive_costs_what_the_first_did() {
    let mut place = folder();
    // Kept when asked, so that a server can be tried on it.
    place.disable_cleanup(std::env::var_os("ARMARIUS_SOAK_KEEP").is_some());
    grow("file", on_a_file(&place), i64::try_from(sized(200, 100_000)).unwrap());
    eprintln!("file: {}", place.path().display());
}

#[test]
fn the_next_commit_of_a_long_archive_in_a_database_costs_what_the_first_did() {
    grow("database", on_a_database(), i64::try_from(sized(40, 10_000)).unwrap());
}

/// Everything of many archives is done while one of them stands still for ever.
fn busy(store: &str, engine: &Engine, archives: usize, revisions: i64) {
    let handle = engine.handle();
    let names: Vec<Name> = (0..archives).map(|n| Name::trusted(&format!("a{n}"))).collect();
    let mut still = flow();
    still.tasks[0].exclusive = true;
    still.tasks.iter_mut().for_each(|step| step.ttl = PATIENCE_SPAN);
    names.iter().for_each(|name| put(&handle, name));
    plan(&handle, &names[0], 1, &still);
    plan(&handle, &names[0], 2, &still);
    // Its exclusive task is taken and never reported.
    let taken = ask(&handle, "slow", Command::Claim(claim_of("slow")));
    assert!(matches!(taken, Reply::Claimed(Some(_))), "{taken:?}");
    let (began, flow, done) = (Instant::now(), flow(), AtomicUsize::new(0));
    let wanted = (archives - 1) * usize::try_from(revisions).unwrap();
    let mut slowest = Duration::ZERO;
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (handle, done) = (&handle, &done);
            scope.spawn(move || {
                loop {
                    let indexed = work_once(handle, &format!("w{worker}"));
                    let sum = done.fetch_add(indexed.unwrap_or_default(), Ordering::Relaxed);
                    match indexed {
                        Some(_) => {}
                        None if sum >= wanted => return,
                        None => std::thread::sleep(Duration::from_millis(2)),
                    }
                    assert!(began.elapsed() < PATIENCE, "{sum} of {wanted}");
                }
            });
        }
        for revision in 1..=revisions {
            for name in &names[1..] {
                let asked = Instant::now();
                plan(&handle, name, revision, &flow);
                slowest = slowest.max(asked.elapsed());
            }
        }
    });
    let took = began.elapsed();
    assert_eq!(done.load(Ordering::Relaxed), wanted);
    let left = Claim { collections: vec![names[0].clone()], ..claim_of("w") };
    assert_eq!(ask(&handle, "w", Command::Claim(left)), Reply::Claimed(None));
    eprintln!(
        "{store}: {archives} archives at once, {revisions} revisions of 5 tasks each: {took:.1?}, \
         {:.0} revisions/s, the slowest plan {slowest:.1?}",
        wanted as f64 / took.as_secs_f64()
    );
}

/// Claims a few tasks, reports them, and says how many of them were of the step `index`; none when
/// there was nothing to do.
fn work_once(handle: &Handle, worker: &str) -> Option<usize> {
    let reply = ask(handle, worker, Command::Claim(claim_of(worker)));
    let Reply::Claimed(Some(granted)) = reply else { return None };
    let mut indexed = 0;
    for task in &granted.tasks {
        indexed += usize::from(task.step.as_str() == "index");
        report(handle, worker, &granted, task);
    }
    Some(indexed)
}

#[test]
fn many_archives_are_busy_at_once_and_one_that_stands_still_delays_none() {
    let place = folder();
    let engine = on_a_file(&place);
    busy("file", &engine, sized(40, 1_000), i64::try_from(sized(3, 20)).unwrap());
    engine.stop().unwrap();
}

#[test]
fn many_archives_in_a_database_are_busy_at_once() {
    let engine = on_a_database();
    busy("database", &engine, sized(20, 1_000), i64::try_from(sized(2, 5)).unwrap());
    engine.stop().unwrap();
}
