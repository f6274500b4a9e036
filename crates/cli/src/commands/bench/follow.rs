//! `armarius bench follow`: what one fact causes for very many others, done in pieces, while
//! somebody else goes on submitting one task at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use armarius_core::Command;
use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::Submit;
use armarius_core::ids::BatchId;
use armarius_core::reply::Reply;
use armarius_core::rows::BatchState;
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::{Handle, Request, Stats};

use super::callers::Callers;
use super::engine::Place;
use super::figures::{Latencies, grouped};
use super::load::{Keys, Load, Run, collection, flow_name};

/// Tasks per submission, claim and report.
const BUNDLE: u64 = 100;
/// Callers who work a batch off.
const CALLERS: u64 = 16;
/// The bystander rests so long between two submissions.
const REST: Duration = Duration::from_millis(2);

/// Ends one task that many wait for, and works off one large batch.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `memory`, `sqlite:PATH` or `postgres://…`; a PATH that is a folder gets a fresh file.
    #[arg(long, default_value = "memory")]
    store: String,
    /// Tasks that wait for one.
    #[arg(long, default_value_t = 100_000)]
    dependents: u64,
    /// Members of the batch.
    #[arg(long, default_value_t = 1_000_000)]
    members: u64,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

/// What a part of the run gave.
struct Part {
    seconds: f64,
    before: Stats,
    after: Stats,
    others: Latencies,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::of(&args.store)?;
    let (engine, about) = place.start(armarius_store::sqlite::Options::default())?;
    let load = Arc::new(Load::new(engine.handle(), 1, Keys::Pages, place.tag()));
    load.prepare()?;
    let fan = fan_out(&load, args.dependents)?;
    let batch = work_off(&load, args.members)?;
    drop(load);
    engine.stop().map_err(|fatal| anyhow::anyhow!("the engine failed: {fatal}"))?;
    if args.json {
        let report = serde_json::json!({
            "store": about.kind,
            "dependents": args.dependents,
            "fan_out": fan.json(),
            "members": args.members,
            "batch": batch.json(),
        });
        println!("{report}");
    } else {
        println!("{} on {}: {}", about.kind, about.place, about.promise);
        fan.print(&format!("{} dependents of one task made ready", grouped(args.dependents)));
        batch.print(&format!("a batch of {} worked off and reported", grouped(args.members)));
    }
    Ok(())
}

impl Part {
    fn print(mut self, what: &str) {
        println!("{what}: {:.2} s, {} commits", self.seconds, grouped(self.commits()));
        println!(
            "{:>12} commits above 100 ms, the longest so far {} ms",
            self.slow(),
            self.max_ms()
        );
        let [p50, p99, max] = [50.0, 99.0, 100.0].map(|p| self.others.percentile(p));
        println!("{:>12} meanwhile: submit p50 {p50} µs, p99 {p99} µs, at most {max} µs", "others");
    }

    fn json(&self) -> serde_json::Value {
        let mut others = self.others.clone();
        serde_json::json!({
            "seconds": self.seconds,
            "commits": self.commits(),
            "commits_above_100_ms": self.slow(),
            "commit_max_ms": self.max_ms(),
            "others_p50_us": others.percentile(50.0),
            "others_p99_us": others.percentile(99.0),
            "others_max_us": others.percentile(100.0),
        })
    }

    fn commits(&self) -> u64 {
        self.after.commits - self.before.commits
    }

    fn slow(&self) -> u64 {
        self.after.commits_slow - self.before.commits_slow
    }

    fn max_ms(&self) -> u128 {
        self.after.commit_max.as_millis()
    }
}

/// One task ends, and very many become ready.
fn fan_out(load: &Arc<Load>, dependents: u64) -> anyhow::Result<Part> {
    eprintln!("laying down {} tasks that wait for one …", grouped(dependents));
    let root = TaskAddress {
        flow: flow_name(0),
        step: Name::trusted("work"),
        item: item(&load.tagged("root")),
        part: "".into(),
        round: 1,
    };
    submit(&load.handle, [submission(root.item.clone(), Vec::new(), None)])?;
    for from in (0..dependents).step_by(1_000) {
        let one = |n| {
            let item = item(&load.tagged(&format!("after-{n}")));
            submission(item, vec![root.clone()], None)
        };
        submit(&load.handle, (from..dependents.min(from + 1_000)).map(one))?;
    }
    let part = beside(load, || {
        load.work_now(1, &mut Run::default())?;
        wait_for_errands(&load.handle)
    })?;
    let mut done = Run::default();
    while done.finished < dependents {
        let before = done.finished;
        load.work_now(BUNDLE, &mut done)?;
        if done.finished == before {
            bail!("only {before} of {dependents} dependents became ready");
        }
    }
    Ok(part)
}

/// A large batch, submitted, worked off and reported.
fn work_off(load: &Arc<Load>, members: u64) -> anyhow::Result<Part> {
    let actor = Name::trusted("bench");
    let key = load.tagged("batch");
    let open = Command::OpenBatch { collection: collection(0), key: key.as_str().into() };
    let Reply::Batch(batch) = load.handle.call(actor.clone(), None, open)? else {
        bail!("no batch was opened");
    };
    eprintln!("submitting a batch of {} …", grouped(members));
    for from in (0..members).step_by(1_000) {
        let one =
            |n| submission(item(&load.tagged(&format!("member-{n}"))), Vec::new(), Some(batch));
        submit(&load.handle, (from..members.min(from + 1_000)).map(one))?;
    }
    let part = beside(load, || {
        load.handle.call(actor, None, Command::SealBatch { batch })?;
        load.work_off(Callers::tasks(CALLERS), BUNDLE)?;
        wait_for_errands(&load.handle)
    })?;
    let row = batch_row(&load.handle, batch)?;
    let all = i64::try_from(members)?;
    if (row.0, row.1, row.2) != (BatchState::Completed, all, all) {
        bail!("the batch is not exact: {row:?}, expected {all}");
    }
    Ok(part)
}

/// Runs something while a bystander submits one task after another.
fn beside(load: &Load, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Part> {
    let before = load.handle.stats();
    let over = AtomicBool::new(false);
    let began = Instant::now();
    let others = std::thread::scope(|scope| {
        let bystander = scope.spawn(|| bystander(load, &over));
        let worked = work();
        over.store(true, Ordering::Relaxed);
        let others = bystander.join().map_err(|_| anyhow::anyhow!("the bystander panicked"))?;
        worked.and(others)
    })?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Part { seconds, before, after: load.handle.stats(), others })
}

fn bystander(load: &Load, over: &AtomicBool) -> anyhow::Result<Latencies> {
    let mut took = Latencies::default();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        load.backlog(1)?;
        took.note(began.elapsed());
        std::thread::sleep(REST);
    }
    Ok(took)
}

fn submit(handle: &Handle, commands: impl IntoIterator<Item = Command>) -> anyhow::Result<()> {
    let actor = Name::trusted("bench");
    let request = |command| Request { actor: actor.clone(), idem: None, command };
    for outcome in handle.submit_many(commands.into_iter().map(request).collect()) {
        outcome?;
    }
    Ok(())
}

fn submission(item: ItemAddress, depends: Vec<TaskAddress>, batch: Option<BatchId>) -> Command {
    Command::Submit(Submit {
        item,
        flow: flow_name(0),
        payload: "".into(),
        priority: None,
        not_before: None,
        parts: Vec::new(),
        depends,
        batch,
    })
}

fn item(key: &str) -> ItemAddress {
    ItemAddress { collection: collection(0), kind: Name::trusted("page"), key: key.into() }
}

/// Waits until nothing is pending that follows from earlier facts.
fn wait_for_errands(handle: &Handle) -> anyhow::Result<()> {
    loop {
        let pending = handle.question(|reader| {
            let mut view = View::new(0);
            reader.look(&[Need::Errands((), None, 1)], &mut view, true)?;
            Ok(view.errands.first(&(), 1).is_ok_and(|mut errands| errands.next().is_some()))
        })?;
        if !pending {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn batch_row(handle: &Handle, batch: BatchId) -> anyhow::Result<(BatchState, i64, i64)> {
    let row = handle.question(|reader| {
        let mut view = View::new(0);
        reader.look(&[Need::Batch(batch)], &mut view, true)?;
        Ok(view.batches.get(&batch).ok().flatten().map(|row| (row.state, row.total, row.done)))
    })?;
    row.context("the batch is gone")
}
