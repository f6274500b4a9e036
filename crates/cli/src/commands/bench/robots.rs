//! `armarius bench robots`: what events cost with many robots, and how quickly a robot is asked
//! about an archive that was there before it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use armarius_core::Command;
use armarius_core::address::ItemAddress;
use armarius_core::command::PutItem;
use armarius_core::event::Outcome;
use armarius_core::flow::{Flow, On, Query, Step};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::{Handle, Request};
use armarius_wire::v1::Page;
use armarius_wire::v1::item::{Find, Item};
use armarius_wire::v1::robot;

use super::engine::{Place, per_second};
use super::figures::{Latencies, grouped};
use crate::own::Server;

/// Commands sent at a time.
const BULK: u64 = 1_000;
/// One in so many items has the event that the late robot waits for.
const MATCHING: u64 = 100;
/// Events of which each is waited for.
const SINGLE: u64 = 200;
/// The bystander rests so long between two events.
const REST: Duration = Duration::from_millis(2);
/// First pages that are looked for.
const FINDS: u64 = 200;

/// Adds events to items of a small and of a large archive, then registers robots on it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `memory`, `sqlite:PATH` or `postgres://…`; a PATH that is a folder gets a fresh file.
    #[arg(long, default_value = "memory")]
    store: String,
    /// Items of the large archive.
    #[arg(long, default_value_t = 1_000_000)]
    items: u64,
    /// Items of the small one.
    #[arg(long, default_value_t = 10_000)]
    few: u64,
    /// Robots that are registered.
    #[arg(long, default_value_t = 100)]
    robots: u64,
    /// Events of each kind to measure.
    #[arg(long, default_value_t = 20_000)]
    events: u64,
    /// Print one JSON object instead of lines for people.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::of(&args.store)?;
    let (engine, about) = place.start(armarius_store::sqlite::Options::default())?;
    let bench = Bench { handle: engine.handle(), tag: place.tag() };
    let mut told = serde_json::Map::new();
    if !args.json {
        println!("{} on {}: {}", about.kind, about.place, about.promise);
    }
    let mut tell = |key: &str, value: serde_json::Value, text: String| {
        if !args.json {
            println!("{text}");
        }
        told.insert(key.to_owned(), value);
    };
    bench.collection("archive")?;
    bench.lay(0, args.few)?;
    let none = bench.events(args, args.few, "quiet", "no robot at all", &mut tell)?;
    bench.register(args.robots)?;
    let mut few = [0.0; 3];
    for (cost, (name, what)) in few.iter_mut().zip(CASES) {
        *cost = bench.events(args, args.few, name, what, &mut tell)?;
    }
    bench.lay(args.few, args.items)?;
    let mut many = [0.0; 3];
    for (cost, (name, what)) in many.iter_mut().zip(CASES) {
        *cost = bench.events(args, args.items, name, what, &mut tell)?;
    }
    for (i, (name, what)) in CASES.iter().enumerate() {
        let ratio = many[i] / few[i].max(f64::MIN_POSITIVE);
        let text = format!("{what}: {ratio:.2} times the cost at {} items", grouped(args.few));
        tell(&format!("ratio_{name}"), ratio.into(), text);
    }
    let ratio = few[0] / none.max(f64::MIN_POSITIVE);
    tell("ratio_robots", ratio.into(), format!("robots that are not concerned: {ratio:.2} times"));
    let ratio = many[1] / many[0].max(f64::MIN_POSITIVE);
    tell(
        "ratio_asked",
        ratio.into(),
        format!("a robot that is asked and not woken: {ratio:.2} times"),
    );
    bench.fill(args.items, &mut tell)?;
    bench.matches((args.items / 10).max(1), &mut tell)?;
    let home = bench.home("archive");
    drop(bench);
    engine.stop().map_err(|fatal| anyhow::anyhow!("the engine failed: {fatal}"))?;
    if let Some(file) = place.path() {
        find(&format!("sqlite:{}", file.display()), &home, args.items, &mut tell)?;
    }
    if args.json {
        println!("{}", serde_json::Value::Object(told));
    }
    Ok(())
}

/// Events: their name, and who is concerned.
const CASES: [(&str, &str); 3] = [
    ("nobody", "robots, none concerned"),
    ("asked", "robots, one asked and not woken"),
    ("woken", "robots, one woken"),
];

struct Bench {
    handle: Handle,
    tag: String,
}

type Tell<'t> = dyn FnMut(&str, serde_json::Value, String) + 't;

impl Bench {
    fn actor() -> Name {
        Name::trusted("bench")
    }

    fn home(&self, name: &str) -> Name {
        Name::trusted(&format!("bench-{name}{}", self.tag))
    }

    fn item(&self, home: &str, n: u64) -> ItemAddress {
        let key = format!("vol-{:05}/page-{:04}", n / 500, n % 500);
        let (collection, kind) = (self.home(home), Name::trusted("page"));
        ItemAddress { collection, kind, key: key.into() }
    }

    fn collection(&self, name: &str) -> anyhow::Result<()> {
        let command = Command::PutCollection { name: self.home(name), notify: Vec::new() };
        self.handle.call(Self::actor(), None, command)?;
        Ok(())
    }

    fn send(&self, commands: Vec<Command>) -> anyhow::Result<()> {
        let request = |command| Request { actor: Self::actor(), idem: None, command };
        for outcome in self.handle.submit_many(commands.into_iter().map(request).collect()) {
            outcome?;
        }
        Ok(())
    }

    /// Items, and for some of them the event that the late robot waits for.
    fn lay(&self, from: u64, to: u64) -> anyhow::Result<()> {
        eprintln!("laying down {} items …", grouped(to - from));
        self.lay_in("archive", from, to)?;
        let some: Vec<Command> =
            (from..to).filter(|n| n % MATCHING == 0).map(|n| self.event(n, "scanned")).collect();
        for bulk in some.chunks(usize::try_from(BULK)?) {
            self.send(bulk.to_vec())?;
        }
        Ok(())
    }

    fn lay_in(&self, home: &str, from: u64, to: u64) -> anyhow::Result<()> {
        for begin in (from..to).step_by(usize::try_from(BULK)?) {
            let put = |n| {
                Command::PutItem(PutItem {
                    item: self.item(home, n),
                    priority: None,
                    ordinal: None,
                    types: None,
                    attributes: None,
                })
            };
            self.send((begin..to.min(begin + BULK)).map(put).collect())?;
        }
        Ok(())
    }

    fn event(&self, n: u64, name: &str) -> Command {
        Command::AddEvent {
            item: self.item("archive", n),
            name: Name::trusted(name),
            outcome: Outcome::Success,
            detail: None,
        }
    }

    /// Robots that each wait for events of their own; one is also asked about `asked`, and never
    /// woken by it alone, and one is woken by `woken`.
    fn register(&self, robots: u64) -> anyhow::Result<()> {
        for n in 0..robots {
            let own = |what: &str| Name::trusted(&format!("{what}-{n}"));
            let mut success = vec![own("first"), own("second")];
            match n {
                0 => success = vec![Name::trusted("woken")],
                1 => success.push(Name::trusted("asked")),
                _ => {}
            }
            let query = Query { success, absent: vec![own("end")], ..Query::default() };
            self.robot("archive", &format!("robot-{n}"), &format!("end-{n}"), query)?;
        }
        self.wait_for_errands()
    }

    fn robot(&self, home: &str, name: &str, records: &str, query: Query) -> anyhow::Result<()> {
        let flow = Flow {
            on: On::Items(query),
            records: Some(Name::trusted(records)),
            tasks: vec![Step::outside(Name::trusted("work"))],
            ..Flow::manual(Name::trusted(name))
        };
        let command = Command::ApplyFlow { collection: self.home(home), flow: Box::new(flow) };
        self.handle.call(Self::actor(), None, command)?;
        Ok(())
    }

    /// Adds events to items all over the archive. Answers microseconds per event.
    fn events(
        &self,
        args: &Args,
        items: u64,
        name: &str,
        what: &str,
        tell: &mut Tell<'_>,
    ) -> anyhow::Result<f64> {
        // A step that meets every item before it meets one again.
        let place = |n: u64| (n.wrapping_mul(7_368_787) + 11) % items;
        let began = Instant::now();
        for begin in (0..args.events).step_by(usize::try_from(BULK)?) {
            let end = args.events.min(begin + BULK);
            self.send((begin..end).map(|n| self.event(place(n), name)).collect())?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let mut single = Latencies::default();
        for n in args.events..args.events + SINGLE {
            let began = Instant::now();
            self.handle.call(Self::actor(), None, self.event(place(n), name))?;
            single.note(began.elapsed());
        }
        let each = seconds * 1e6 / args.events as f64;
        let (rate, p50) = (per_second(args.events, seconds), single.percentile(50.0));
        let text = format!(
            "{:>10} items, {what}: {} events/s, {each:.1} µs each; one at a time p50 {p50} µs",
            grouped(items),
            grouped(rate)
        );
        let value = serde_json::json!({ "us": each, "per_s": rate, "single_p50_us": p50 });
        tell(&format!("{name}_{items}"), value, text);
        Ok(each)
    }

    /// A robot comes to an archive that is there already, and goes again.
    fn fill(&self, items: u64, tell: &mut Tell<'_>) -> anyhow::Result<()> {
        let query = Query { success: vec![Name::trusted("scanned")], ..Query::default() };
        let (mut first, mut seconds) = (Duration::ZERO, 0.0);
        let beside = self.beside(|| {
            let began = Instant::now();
            self.robot("archive", "late", "late", query)?;
            first = self.wait_for_first("late", began)?;
            self.wait_for_errands()?;
            seconds = began.elapsed().as_secs_f64();
            Ok(())
        })?;
        let rate = per_second(items, seconds);
        let first = first.as_millis();
        let text = format!(
            "a robot registered over {} items, {} match: {seconds:.2} s, {} items/s, first work \
             after {first} ms",
            grouped(items),
            grouped(items / MATCHING),
            grouped(rate)
        );
        let value = serde_json::json!({
            "seconds": seconds,
            "items_per_s": rate,
            "first_work_ms": u64::try_from(first)?,
            "beside": beside.json(),
        });
        tell("registered", value, format!("{text}; {}", beside.text()));
        let beside = self.beside(|| {
            let began = Instant::now();
            let (collection, flow) = (self.home("archive"), Name::trusted("late"));
            self.handle.call(Self::actor(), None, Command::RemoveFlow { collection, flow })?;
            self.wait_for_errands()?;
            seconds = began.elapsed().as_secs_f64();
            Ok(())
        })?;
        let rate = per_second(items, seconds);
        let text =
            format!("and removed: {seconds:.2} s, {} items/s; {}", grouped(rate), beside.text());
        let value = serde_json::json!({
            "seconds": seconds, "items_per_s": rate, "beside": beside.json(),
        });
        tell("removed", value, text);
        Ok(())
    }

    /// Runs something while a bystander adds one event after another to the same archive.
    fn beside(&self, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Beside> {
        let before = self.handle.stats();
        let over = AtomicBool::new(false);
        let others = std::thread::scope(|scope| {
            let bystander = scope.spawn(|| {
                let mut took = Latencies::default();
                while !over.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    self.handle.call(Self::actor(), None, self.event(1, "nobody"))?;
                    took.note(began.elapsed());
                    std::thread::sleep(REST);
                }
                Ok(took)
            });
            let worked = work();
            over.store(true, Ordering::Relaxed);
            let others = bystander.join().map_err(|_| anyhow::anyhow!("the bystander panicked"))?;
            worked.and(others)
        })?;
        let slow = self.handle.stats().commits_slow - before.commits_slow;
        Ok(Beside { others, slow })
    }

    /// A robot that every item waits for.
    fn matches(&self, items: u64, tell: &mut Tell<'_>) -> anyhow::Result<()> {
        self.collection("all")?;
        self.lay_in("all", 0, items)?;
        let mut seconds = 0.0;
        let beside = self.beside(|| {
            let began = Instant::now();
            self.robot("all", "each", "each", Query::default())?;
            self.wait_for_errands()?;
            seconds = began.elapsed().as_secs_f64();
            Ok(())
        })?;
        let rate = per_second(items, seconds);
        let text = format!(
            "a robot that all of {} items wait for: {seconds:.2} s, {} tasks/s; {}",
            grouped(items),
            grouped(rate),
            beside.text()
        );
        let value = serde_json::json!({
            "seconds": seconds, "tasks_per_s": rate, "beside": beside.json(),
        });
        tell("matched", value, text);
        Ok(())
    }

    fn wait_for_first(&self, flow: &str, began: Instant) -> anyhow::Result<Duration> {
        let ready = State::Ready.index();
        for _ in 0..60_000 {
            let found = self.handle.question(|reader| {
                let mut view = View::new(0);
                reader.look(&[], &mut view, true)?;
                let flows = view.flows.iter().filter(|(_, f)| &*f.name == flow);
                let ids: Vec<_> = flows.map(|(id, _)| *id).collect();
                let mut queues = view.queues.iter().filter(|(_, q)| ids.contains(&q.flow));
                Ok(queues.any(|(_, q)| q.counts[ready] > 0))
            })?;
            if found {
                return Ok(began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        bail!("the robot found nothing")
    }

    /// Waits until nothing is pending that follows from earlier facts.
    fn wait_for_errands(&self) -> anyhow::Result<()> {
        loop {
            let pending = self.handle.question(|reader| {
                let mut view = View::new(0);
                reader.look(&[Need::Errands((), None, 1)], &mut view, true)?;
                Ok(view.errands.first(&(), 1).is_ok_and(|mut errands| errands.next().is_some()))
            })?;
            if !pending {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// How it went for somebody who adds single events meanwhile.
struct Beside {
    others: Latencies,
    /// Commits above 100 ms.
    slow: u64,
}

impl Beside {
    fn text(&self) -> String {
        let [p50, p99] = [50.0, 99.0].map(|p| self.others.clone().percentile(p));
        format!("others' events p50 {p50} µs, p99 {p99} µs, commits above 100 ms: {}", self.slow)
    }

    fn json(&self) -> serde_json::Value {
        let [p50, p99] = [50.0, 99.0].map(|p| self.others.clone().percentile(p));
        serde_json::json!({ "p50_us": p50, "p99_us": p99, "commits_above_100_ms": self.slow })
    }
}

/// First pages of what people look for, through a server on the same store.
fn find(store: &str, home: &Name, items: u64, tell: &mut Tell<'_>) -> anyhow::Result<()> {
    let more = ["--listen", "127.0.0.1:0", "--store", store].map(str::to_owned);
    let server = Server::start(Path::new("."), "serve", &more)?;
    let client = server.client();
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (key, what, success, absent) in [
        ("find_marked", "an event that 1 % have", list(&["scanned"]), Vec::new()),
        ("find_both", "that and one they have not", list(&["scanned"]), list(&["end-0"])),
        ("find_absent", "an event that all have not", Vec::new(), list(&["nothing"])),
    ] {
        let query = robot::Query { success, absent, ..Default::default() };
        let find = Find { collection: home.to_string(), query, cursor: None, max: Some(100) };
        let mut took = Latencies::default();
        for _ in 0..FINDS {
            let began = Instant::now();
            let page: Page<Item> = client.post("items/find", &find)?;
            took.note(began.elapsed());
            if page.entries.is_empty() {
                bail!("nothing was found by {what}");
            }
        }
        let [p50, max] = [50.0, 100.0].map(|p| took.percentile(p));
        let text = format!(
            "{:>10} items, first 100 by {what}: p50 {p50} µs, at most {max} µs",
            grouped(items)
        );
        tell(key, serde_json::json!({ "p50_us": p50, "max_us": max }), text);
    }
    Ok(())
}
