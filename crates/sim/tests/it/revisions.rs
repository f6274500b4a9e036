//! An archive of many revisions, on the embedded store: what the next commit costs does not grow.

use std::time::{Duration, Instant};

use armarius_core::command::{
    About, Claim, Command, Definitions, Ending, PlanRevision, PutArchive, Report,
};
use armarius_core::decide::revision_address;
use armarius_core::flow::{Class, Depend, Flow, On, Reference, Step, When};
use armarius_core::reply::Reply;
use armarius_core::rows::ArchiveKind;
use armarius_core::text::Name;
use armarius_engine::seam::TaskFilter;
use armarius_engine::{Engine, Handle, Options};
use armarius_store::Sqlite;

use crate::room::folder;
use crate::soak::sized;

/// Revisions whose time is taken together, at the beginning and at the end.
const SPAN: usize = 1_000;

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

/// Plans a revision and does all of its work.
fn live(handle: &Handle, archive: &Name, revision: i64, flow: &Flow) {
    let about = About { author: "ada".into(), paths: vec!["a.txt".into()], ..About::default() };
    let definitions = Definitions::Flows(vec![flow.clone()]);
    let plan = PlanRevision { archive: archive.clone(), revision, about, definitions };
    ask(handle, "watcher", Command::PlanRevision(Box::new(plan)));
    let claim = Claim {
        worker: Name::trusted("w"),
        labels: Vec::new(),
        steps: Vec::new(),
        collections: Vec::new(),
        ways: Vec::new(),
        max: 10,
    };
    loop {
        let reply = ask(handle, "w", Command::Claim(claim.clone()));
        let Reply::Claimed(Some(granted)) = reply else { return };
        for task in &granted.tasks {
            let report = Report {
                lease: granted.lease,
                task: task.task,
                token: task.token,
                outcome: Ending::Class(Class::Success),
                detail: None,
                manifest: None,
                last: false,
            };
            ask(handle, "w", Command::Report(report));
        }
    }
}

/// Reads a page of the log as the server does: items, tasks and events of twenty revisions.
fn page(handle: &Handle, archive: &Name, top: i64) -> usize {
    let read = handle.question(|reader| {
        let mut view = armarius_core::view::View::new(0);
        reader.look(&[], &mut view, true)?;
        let home = view.collection_names.get(archive).unwrap().copied().unwrap();
        let mut tasks = 0;
        for revision in (top - 19..=top).rev() {
            let at = revision_address(archive, revision);
            let key = armarius_core::rows::ItemKey { collection: home, kind: at.kind, key: at.key };
            reader.look(&[armarius_core::Need::ItemKey(key.clone())], &mut view, false)?;
            let item = view.item_keys.get(&key).unwrap().copied().unwrap();
            let filter = TaskFilter { item: Some(item), max: 4_000, ..TaskFilter::default() };
            tasks += reader.tasks(&filter)?.len();
            reader.events(item, 0, 20_000)?;
        }
        Ok(tasks)
    });
    read.unwrap()
}

#[test]
fn the_next_commit_of_a_long_archive_costs_what_the_first_did() {
    let revisions = i64::try_from(sized(200, 100_000)).unwrap();
    let place = folder();
    let store = Sqlite::open(&place.path().join("a.db"), armarius_store::Options::default());
    let engine = Engine::start(Box::new(store.unwrap()), Options::default()).unwrap();
    let handle = engine.handle();
    let archive = Name::trusted("books");
    let put = PutArchive {
        archive: archive.clone(),
        kind: ArchiveKind::Svn,
        place: "/somewhere".into(),
        branch: "".into(),
        first: 1,
        trusted: true,
    };
    ask(&handle, "op", Command::PutArchive(put));
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
    let began = Instant::now();
    assert_eq!(page(&handle, &archive, revisions), 20 * 6);
    let newest = began.elapsed();
    let began = Instant::now();
    assert_eq!(page(&handle, &archive, 20.max(revisions / 2)), 20 * 6);
    eprintln!(
        "{revisions} revisions of 5 tasks: last {span} / first {span} = {:.2}, {:.2} ms each; \
         a page of the log {newest:?} at the end, {:?} in the middle",
        last / first,
        last / span as f64 * 1_000.0,
        began.elapsed()
    );
    engine.stop().unwrap();
}
