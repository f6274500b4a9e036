//! How fast the bare store is: whole lifecycles (submit, claim, report), one item per task, with
//! hand-made views and no rules in between.
//!
//! `cargo bench -p armarius-store --bench commit --
//!     [postgres] [tasks] [page_bytes] [checkpoint_pages] [priorities]`
//!
//! With `postgres` a server is started for the occasion and the shared store is measured alone.
//!
//! Random 24-byte item keys, 200-byte payloads, 16 queues, 10 priorities (so that claims reach
//! all over the backlog; with one they go through it in order), 20,000 tasks of backlog,
//! bundles of 50, everything kept. *Cold* views start empty in every commit, so that every row is
//! loaded again; *warm* ones keep what they hold until its task is done, as the engine's do. Time
//! is counted inside the store only: by the clock, and by the processor, which other work on the
//! machine does not disturb.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

use std::time::{Duration, Instant};

use armarius_core::event::{self, Event, Head, Outcome};
use armarius_core::flow::{Flow, Way};
use armarius_core::ids::{
    CollectionId, FlowId, ItemId, LeaseId, QueueId, Span, TaskId, Time, Token, VersionId,
};
use armarius_core::rows::{
    Body, Collection, Counter, FlowRow, Grip, Item, ItemKey, Lease, Mark, Queue, Rank, Spot, Task,
    TaskKey, Version,
};
use armarius_core::task::{Cause, State};
use armarius_core::text::{Name, Text};
use armarius_core::view::{CommitHead, Need, Stop, View};
use armarius_engine::seam::Store;
use armarius_store::conformance::cluster::Cluster;
use armarius_store::{Memory, Options, Postgres, Sqlite, postgres};
use rustix::time::{ClockId, clock_gettime};

const QUEUES: i64 = 16;
const BACKLOG: usize = 20_000;
const BUNDLE: usize = 50;

fn main() {
    // Cargo passes `--bench`, which means nothing here.
    let args: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let tasks = args.first().copied().unwrap_or(200_000);
    let page_bytes = args.get(1).map_or(Options::default().page_bytes, |n| small(*n));
    let checkpoint_pages = args.get(2).map_or(Options::default().checkpoint_pages, |n| small(*n));
    let priorities = args.get(3).map_or(10, |n| *n as u64);
    if std::env::args().any(|a| a == "postgres") {
        return shared(tasks, priorities);
    }
    let folder = tempfile::tempdir_in(".").unwrap();
    println!("{tasks} tasks, pages of {page_bytes} bytes, checkpoint at {checkpoint_pages} pages");
    for (operations, warm) in [(1_000, false), (1_000, true), (6_400, false), (6_400, true)] {
        let path = folder.path().join(format!("{operations}-{warm}.db"));
        let ballast_bytes = Some(0);
        let options = Options { page_bytes, checkpoint_pages, ballast_bytes, ..Options::default() };
        let mut sqlite = Sqlite::open(&path, options).unwrap();
        let line = Drive::new(&mut sqlite, warm, priorities).run(tasks, operations);
        drop(sqlite);
        let bytes = std::fs::metadata(&path).unwrap().len() / (tasks + BACKLOG) as u64;
        println!("sqlite  {line}  {bytes} bytes/task");
    }
    let line = Drive::new(&mut Memory::new(), true, priorities).run(tasks, 6_400);
    println!("memory  {line}");
}

/// The shared store, on a server with room for the work.
fn shared(tasks: usize, priorities: u64) {
    let statements = std::env::args().any(|a| a == "statements");
    let extra = "shared_preload_libraries='pg_stat_statements'";
    let settings = [
        "shared_buffers='1GB'",
        "max_wal_size='8GB'",
        "autovacuum_naptime=5",
        if statements { extra } else { "" },
    ];
    let cluster = Cluster::start(&settings).unwrap();
    if statements {
        cluster.sql("create extension pg_stat_statements").unwrap();
    }
    for (operations, warm) in [(100, true), (1_000, true), (6_400, false), (6_400, true)] {
        let tasks = tasks.min(operations * 200);
        let url = cluster.fresh_url();
        let mut store = Postgres::open(&url, 0, postgres::Options::default()).unwrap();
        let mut drive = Drive::new(&mut store, warm, priorities);
        drive.fill(operations);
        let before = server_processor(&cluster);
        let line = drive.work(tasks, operations);
        let server = (server_processor(&cluster) - before).as_secs_f64() * 1e6 / tasks as f64;
        println!("postgres {line}, {server:.1} µs of the server's processors each");
    }
    if std::env::args().any(|a| a == "statements") {
        println!("{}", cluster.sql(STATEMENTS).unwrap());
    }
}

const STATEMENTS: &str = "select round(total_exec_time::numeric) || ' ms, ' || calls || ' calls, '
    || rows || ' rows: ' || left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 90)
    from pg_stat_statements where calls > 10 order by total_exec_time desc limit 30";

/// Processor time of a server's processes, those that ended excepted.
fn server_processor(cluster: &Cluster) -> Duration {
    let pid = std::fs::read_to_string(cluster.folder().join("data/postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap_or_default().to_owned();
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
        if fields.get(2).is_some_and(|parent| *parent == pid) {
            let number = |i: usize| fields.get(i).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            ticks += number(12) + number(13);
        }
    }
    // A hundred in a second, on every Linux there is.
    Duration::from_millis(ticks * 10)
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[derive(Clone, Copy, Default)]
struct Spent {
    clock: Duration,
    processor: Duration,
}

#[derive(Clone, Copy)]
struct Start {
    clock: Instant,
    processor: Duration,
}

impl Start {
    fn now() -> Self {
        Self { clock: Instant::now(), processor: processor() }
    }
}

impl Spent {
    fn add(&mut self, start: Start) {
        self.clock += start.clock.elapsed();
        self.processor += processor() - start.processor;
    }
}

fn processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap())
}

/// Bytes this process has given to the kernel.
fn bytes_written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|l| l.strip_prefix("wchar: "));
    line.and_then(|n| n.parse().ok()).unwrap_or_default()
}

/// A store, the view on it, and where the world stands.
struct Drive<'s> {
    store: &'s mut dyn Store,
    view: View,
    warm: bool,
    priorities: u64,
    now: Time,
    tasks: i64,
    leases: Vec<LeaseId>,
    random: u64,
    inside: Spent,
    worst: Duration,
    words: Words,
}

struct Words {
    kind: Name,
    actor: Name,
    worker: Name,
    submitted: Name,
    claimed: Name,
    done: Name,
}

impl<'s> Drive<'s> {
    fn new(store: &'s mut dyn Store, warm: bool, priorities: u64) -> Self {
        let name = Name::trusted;
        let words = Words {
            kind: name("page"),
            actor: name("ada"),
            worker: name("worker 1"),
            submitted: name("submitted"),
            claimed: name("claimed"),
            done: name("scanned"),
        };
        let (inside, worst) = (Spent::default(), Duration::ZERO);
        let (view, now, tasks, leases) = (View::new(0), Time::ZERO, 0, Vec::new());
        let mut drive = Self {
            store,
            view,
            warm,
            priorities,
            now,
            tasks,
            leases,
            random: 7,
            inside,
            worst,
            words,
        };
        drive.begin();
        drive.define();
        drive.commit();
        drive
    }

    fn run(&mut self, tasks: usize, operations: usize) -> String {
        self.fill(operations);
        self.work(tasks, operations)
    }

    fn fill(&mut self, operations: usize) {
        let mut left = BACKLOG;
        while left > 0 {
            let now = left.min(operations);
            self.begin();
            self.submit(now);
            self.commit();
            left -= now;
        }
        (self.inside, self.worst) = (Spent::default(), Duration::ZERO);
    }

    fn work(&mut self, tasks: usize, operations: usize) -> String {
        let each = operations / 3;
        let written = bytes_written();
        let mut done = 0;
        let mut commits = 0_u32;
        while done < tasks {
            self.begin();
            self.submit(each);
            done += self.report();
            self.claim(each);
            self.commit();
            commits += 1;
        }
        let rate = done as f64 / self.inside.clock.as_secs_f64();
        let processor = self.inside.processor.as_secs_f64() * 1e6 / done as f64;
        let (mean, worst) = (self.inside.clock / commits, self.worst);
        let kilobytes = (bytes_written() - written) as f64 / 1_024.0 / done as f64;
        let warm = if self.warm { "warm" } else { "cold" };
        format!(
            "{operations:>5} ops/commit {warm}  {rate:>7.0} lifecycles/s  \
             {processor:.1} µs of processor each  \
             {mean:>6.1?}/commit, worst {worst:.0?}, \
             {kilobytes:.1} KB written/task"
        )
    }

    fn begin(&mut self) {
        if !self.warm {
            self.view = View::new(0);
        }
        let start = Start::now();
        self.now = self.store.begin(&mut self.view).unwrap();
        self.inside.add(start);
    }

    fn commit(&mut self) {
        self.view.counters.put(Counter::Task, self.tasks);
        self.view.counters.put(Counter::Item, self.tasks);
        self.view.counters.put(Counter::Clock, self.now.0);
        self.view.keep();
        let CommitHead { n, seal } = self.view.head;
        let commit = event::seal(n + 1, self.now, seal, &self.view.events);
        let start = Start::now();
        self.store.commit(&self.view, &commit).unwrap();
        self.worst = self.worst.max(start.clock.elapsed());
        self.inside.add(start);
        self.view.committed(CommitHead { n: commit.n, seal: commit.seal });
    }

    fn load(&mut self, needs: &[Need]) {
        let start = Start::now();
        self.store.load(needs, &mut self.view).unwrap();
        self.inside.add(start);
    }

    fn define(&mut self) {
        let (collection, flow, version) = (CollectionId(1), FlowId(1), VersionId(1));
        let (served, notify, robots) = (0, Vec::new(), Vec::new());
        let (id, name) = (collection, Name::trusted("maps"));
        let row = Collection { id, name, item: ItemId(0), served, notify, robots };
        self.view.collections.put(id, row);
        let (id, name) = (flow, Name::trusted("scan"));
        let row =
            FlowRow { id, collection, name: name.clone(), version, removed: false, taken: None };
        self.view.flows.put(id, row);
        let (id, digest, def) = (version, [1; 32], Flow::manual(name).into());
        self.view.versions.put(id, Version { id, flow, digest, def, at: self.now });
        for n in 1..=QUEUES {
            let (id, step) = (QueueId(n), Name::trusted(&format!("step {n}")));
            let (labels, counts) = (Vec::new(), [0; 7]);
            let way = Way::Outside;
            self.view.queues.put(id, Queue { id, collection, flow, step, labels, way, counts });
        }
    }

    fn submit(&mut self, tasks: usize) {
        let keys: Vec<Text> = (0..tasks).map(|_| self.key()).collect();
        let (collection, kind) = (CollectionId(1), self.words.kind.clone());
        let need = |key: &Text| {
            Need::ItemKey(ItemKey { collection, kind: kind.clone(), key: key.clone() })
        };
        // The rules ask first whether the items are known.
        let needs: Vec<Need> = keys.iter().map(need).collect();
        self.load(&needs);
        keys.into_iter().for_each(|key| self.submit_one(key));
    }

    fn key(&mut self) -> Text {
        Text::from(format!("{:016x}{:08x}", self.next(), self.next() >> 32))
    }

    fn submit_one(&mut self, key: Text) {
        self.tasks += 1;
        let (id, item) = (TaskId(self.tasks), ItemId(self.tasks));
        let queue = QueueId(self.tasks % QUEUES + 1);
        let priority = i32::try_from(self.next() % self.priorities).unwrap();
        let (collection, kind) = (CollectionId(1), self.words.kind.clone());
        let (types, attributes, now) = (Vec::new(), Text::from(""), self.now);
        let row = Item {
            id: item,
            collection,
            kind,
            key,
            priority,
            first_seen_at: now,
            ordinal: None,
            types,
            attributes,
            changed_seq: 1,
            deleted: false,
        };
        self.view.items.put(item, row);
        let (part, payload) = (Text::from(""), Text::from("x".repeat(200)));
        let body = Body {
            id,
            item,
            queue,
            flow: FlowId(1),
            version: VersionId(1),
            part: part.clone(),
            round: 1,
            solo: true,
            batch: None,
            payload,
            created_at: now,
            fingerprint: part.clone(),
            depth: 0,
        };
        self.view.task_keys.put(TaskKey { item, queue, part, round: 1 }, id);
        self.view.bodies.put(id, body);
        let (ready_at, token, cause) = (Time::ZERO, Token(0), Cause::None);
        let task = Task {
            id,
            state: State::Ready,
            token,
            attempts: 0,
            failures: 0,
            lapses: 0,
            priority,
            ord: now.0,
            ready_at,
            spot: Spot::Queue,
            admitted: 0,
            blockers: 0,
            lease: None,
            hold: None,
            cause,
            since: now,
        };
        self.view.ready.put(queue, Rank { behind: -priority, ord: now.0, task: id }, ());
        self.view.tasks.put(id, task);
        self.record((item, 1), self.words.submitted.clone(), id, State::Ready, None);
        self.count(queue, State::Ready, 1);
    }

    fn claim(&mut self, tasks: usize) {
        let mut left = tasks;
        while left > 0 {
            let n = left.min(BUNDLE);
            let queue = QueueId((self.next() % 16).cast_signed() + 1);
            let ranks = self.front(queue, n);
            left -= n;
            let needs: Vec<Need> = ranks
                .iter()
                .flat_map(|r| [Need::Task(r.task), Need::Body(r.task)])
                .chain(ranks.iter().flat_map(|r| {
                    // One item per task, with the same number.
                    [Need::Item(ItemId(r.task.0)), Need::Head(ItemId(r.task.0))]
                }))
                .collect();
            let needs = self.missing(needs);
            self.load(&needs);
            let id = LeaseId(u128::from(self.next()) << 64 | u128::from(self.next()));
            let deadline = self.now.plus(Span::seconds(3_600));
            let mut grips = Vec::new();
            for rank in ranks {
                let mut task = self.view.tasks.get(&rank.task).unwrap().unwrap().clone();
                task.token = task.token.next(0);
                (task.state, task.spot, task.lease) = (State::Leased, Spot::Nowhere, Some(id));
                task.attempts += 1;
                task.since = self.now;
                let (token, silent_at) = (task.token, Time::ZERO);
                let task_id = rank.task;
                grips.push(Grip {
                    task: task_id,
                    token,
                    stopping: false,
                    basis: 1,
                    deadline,
                    silent_at,
                });
                self.view.ready.delete(queue, rank);
                self.view.tasks.put(task_id, task);
                let item = ItemId(task_id.0);
                self.record((item, 2), self.words.claimed.clone(), task_id, State::Leased, None);
            }
            let moved = i64::try_from(grips.len()).unwrap();
            self.count(queue, State::Ready, -moved);
            self.count(queue, State::Leased, moved);
            let (worker, actor) = (self.words.worker.clone(), self.words.actor.clone());
            let (ttl, granted_at) = (Span::seconds(30), self.now);
            let expires_at = self.now.plus(ttl);
            let lease = Lease { id, worker, actor, ttl, granted_at, expires_at, grips };
            self.view.leases.put(id, lease);
            self.leases.push(id);
        }
    }

    fn report(&mut self) -> usize {
        let leases = std::mem::take(&mut self.leases);
        let needs = self.missing(leases.iter().map(|id| Need::Lease(*id)).collect());
        self.load(&needs);
        let mut done = 0;
        for id in leases {
            let lease = self.view.leases.get(&id).unwrap().unwrap().clone();
            let needs = lease
                .grips
                .iter()
                .flat_map(|g| {
                    let item = ItemId(g.task.0);
                    let mark = Need::Mark((item, self.words.done.clone()));
                    [
                        Need::Task(g.task),
                        Need::Body(g.task),
                        Need::Item(item),
                        Need::Head(item),
                        mark,
                    ]
                })
                .collect();
            let needs = self.missing(needs);
            self.load(&needs);
            for grip in &lease.grips {
                self.settle(grip.task);
            }
            done += lease.grips.len();
            self.view.leases.delete(id);
        }
        done
    }

    fn settle(&mut self, id: TaskId) {
        let queue = self.view.bodies.get(&id).unwrap().unwrap().queue;
        let mut task = self.view.tasks.get(&id).unwrap().unwrap().clone();
        (task.state, task.lease, task.since) = (State::Done, None, self.now);
        self.view.tasks.put(id, task);
        let item = ItemId(id.0);
        let (outcome, at) = (Outcome::Success, self.now);
        let mark = Mark { n: 3, outcome, based_on: 1, at, hidden: false, imported: false };
        self.view.marks.put((item, self.words.done.clone()), mark);
        self.record((item, 3), self.words.done.clone(), id, State::Done, Some(outcome));
        self.count(queue, State::Leased, -1);
        self.count(queue, State::Done, 1);
    }

    fn record(
        &mut self,
        (item, n): (ItemId, i64),
        name: Name,
        task: TaskId,
        to: State,
        outcome: Option<Outcome>,
    ) {
        let mut hash = [0; 32];
        hash.chunks_mut(8).for_each(|c| c.copy_from_slice(&self.next().to_be_bytes()));
        let token = (n > 1).then_some(Token(1));
        let (at, actor, task, to) = (self.now, self.words.actor.clone(), Some(task), Some(to));
        let (detail, detail_digest) = (None, None);
        self.view.heads.put(item, Head { n, hash });
        self.view.events.push(Event {
            item,
            n,
            name,
            at,
            actor,
            task,
            to,
            token,
            outcome,
            detail,
            detail_digest,
            hash,
        });
    }

    fn count(&mut self, queue: QueueId, state: State, by: i64) {
        let mut row = self.view.queues.get(&queue).unwrap().unwrap().clone();
        row.counts[state.index()] += by;
        self.view.queues.put(queue, row);
    }

    fn front(&mut self, queue: QueueId, n: usize) -> Vec<Rank> {
        loop {
            let need = match self.view.ready.first(&queue, n) {
                Ok(rows) => return rows.take(n).map(|(rank, ())| *rank).collect(),
                Err(Stop::Need(needs)) => needs,
                Err(Stop::Refuse(refusal)) => panic!("{refusal:?}"),
            };
            self.load(&need);
        }
    }

    fn missing(&self, needs: Vec<Need>) -> Vec<Need> {
        let known = |need: &Need| match need {
            Need::Task(k) => self.view.tasks.knows(k),
            Need::Body(k) => self.view.bodies.knows(k),
            Need::Item(k) => self.view.items.knows(k),
            Need::Head(k) => self.view.heads.knows(k),
            Need::Mark(k) => self.view.marks.knows(k),
            Need::Lease(k) => self.view.leases.knows(k),
            _ => false,
        };
        needs.into_iter().filter(|n| !known(n)).collect()
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
