//! A store that keeps nothing but a log and ready tasks, and rules that write one row per command.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};

use armarius_core::command::{Call, Claim, Command, Ending, Report};
use armarius_core::event::{Commit, Event};
use armarius_core::flow::Class;
use armarius_core::ids::{
    BatchId, CollectionId, ErrandId, FlowId, ItemId, LeaseId, QueueId, Span, TaskId, Time, Token,
    VersionId,
};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::{Granted, Reply};
use armarius_core::rows::{
    Batch, Body, Collection, Errand, FlowRow, Follow, Idem, Item, Made, Queue, Rank, Task,
};
use armarius_core::text::{Name, Text};
use armarius_core::view::{Need, Stop, View};
use armarius_engine::clock::{Clock, HandClock};
use armarius_engine::seam::{Description, Reader, Store, StoreError, TaskFilter};
use armarius_engine::{Engine, Handle, Options, Outcome, Request};

/// The two queues of this small world: `one` in flow `f`, and `two`, which wants label `gpu`.
pub(crate) const QUEUES: [(i64, &str, &[&str]); 2] = [(1, "one", &[]), (2, "two", &["gpu"])];

/// What the store saw, in order, and what it is to do next.
#[derive(Default)]
pub(crate) struct Log {
    inner: Mutex<Inner>,
    moved: Condvar,
}

#[derive(Default)]
struct Inner {
    lines: Vec<String>,
    faults: VecDeque<Option<StoreError>>,
    /// Commits that hold a row of this name fail.
    poison: Option<&'static str>,
    begin_fault: Option<StoreError>,
    gate_closed: bool,
    short: bool,
    doubt: Option<String>,
    /// The store's time, where it is not the hand clock's.
    wall: Option<Time>,
    times: Vec<Time>,
    begins: usize,
    ready: BTreeSet<(QueueId, Rank)>,
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(crate) fn note(&self, line: impl Into<String>) {
        self.lock().lines.push(line.into());
        self.moved.notify_all();
    }

    /// Waits until a line was noted that holds these words.
    pub(crate) fn wait_for(&self, words: &str) {
        let words = format!(" {words} ");
        let mut inner = self.lock();
        while !inner.lines.iter().any(|l| format!(" {l} ").contains(&words)) {
            inner = self.moved.wait(inner).unwrap();
        }
    }

    pub(crate) fn begins(&self) -> usize {
        self.lock().begins
    }

    /// Commits wait until the gate is opened.
    pub(crate) fn close_gate(&self) {
        self.lock().gate_closed = true;
    }

    pub(crate) fn open_gate(&self) {
        self.lock().gate_closed = false;
        self.moved.notify_all();
    }

    /// What the next commits answer; `None` is success.
    pub(crate) fn next_commits(&self, faults: impl IntoIterator<Item = Option<StoreError>>) {
        self.lock().faults.extend(faults);
    }

    pub(crate) fn poison(&self, name: &'static str) {
        self.lock().poison = Some(name);
    }

    pub(crate) fn fail_next_begin(&self, error: StoreError) {
        self.lock().begin_fault = Some(error);
    }

    pub(crate) fn set_short(&self, short: bool) {
        self.lock().short = short;
    }

    pub(crate) fn set_doubt(&self, doubt: &str) {
        self.lock().doubt = Some(doubt.to_owned());
    }

    pub(crate) fn set_wall(&self, wall: Time) {
        self.lock().wall = Some(wall);
    }

    /// The times of the commits.
    pub(crate) fn times(&self) -> Vec<Time> {
        self.lock().times.clone()
    }

    fn load(&self, needs: &[Need], view: &mut View) {
        for need in needs {
            match need {
                Need::Timer((), after, _) => view.timers.load((), *after, vec![], true),
                Need::DueLease((), after, _) => view.due_leases.load((), *after, vec![], true),
                Need::Errands((), after, _) => view.errands.load((), *after, vec![], true),
                Need::Ready(queue, None, _) => {
                    let inner = self.lock();
                    let mine = inner.ready.iter().filter(|(q, _)| q == queue);
                    let found = mine.map(|(_, rank)| (*rank, ())).collect();
                    view.ready.load(*queue, None, found, true);
                }
                Need::Destination(to) => view.destinations.load(to.clone(), None),
                Need::Letters(to, after, _) => view.letters.load(to.clone(), *after, vec![], true),
                other => self.note(format!("ignored {other:?}")),
            }
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lock().lines.clone()
    }

    /// The rows of each successful commit.
    pub(crate) fn commits(&self) -> Vec<String> {
        let commit = |l: String| l.strip_prefix("committed ").map(str::to_owned);
        self.lines().into_iter().filter_map(commit).collect()
    }
}

pub(crate) struct FakeStore {
    pub(crate) log: Arc<Log>,
    pub(crate) clock: Arc<HandClock>,
    /// Whether its commits may be made on another thread.
    pub(crate) flies: bool,
}

impl Store for FakeStore {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        let mut inner = self.log.lock();
        inner.begins += 1;
        self.log.moved.notify_all();
        if let Some(error) = inner.begin_fault.take() {
            return Err(error);
        }
        let wall = inner.wall;
        drop(inner);
        load_world(view);
        Ok(wall.unwrap_or_else(|| self.clock.wall()))
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.log.load(needs, view);
        Ok(())
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        let rows: Vec<&str> = view.idems.changes().map(|(name, _)| &**name).collect();
        self.log.note(format!("commit {}", rows.join(" ")));
        assert_eq!(commit.n, view.head.n + 1);
        assert_eq!(commit.prev, view.head.seal);
        let mut inner = self.log.lock();
        while inner.gate_closed {
            inner = self.log.moved.wait(inner).unwrap();
        }
        assert!(!rows.contains(&"burst"), "the store broke");
        let poisoned = inner.poison.is_some_and(|p| rows.contains(&p));
        if let Some(error) = inner.faults.pop_front().flatten() {
            return Err(error);
        }
        if poisoned {
            return Err(StoreError::Unavailable("poisoned".to_owned()));
        }
        inner.times.push(commit.at);
        inner.doubt = None;
        for (queue, rank, entry) in view.ready.changes() {
            if entry.is_some() {
                inner.ready.insert((*queue, *rank));
            } else {
                inner.ready.remove(&(*queue, *rank));
            }
        }
        drop(inner);
        self.log.note(format!("committed {}", rows.join(" ")));
        Ok(())
    }

    fn abandon(&mut self) {}

    fn may_fly(&self) -> bool {
        self.flies
    }

    fn doubt(&self) -> Option<String> {
        self.log.lock().doubt.clone()
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(FakeReader(Arc::clone(&self.log))))
    }

    fn describe(&self) -> Description {
        Description {
            kind: "fake",
            place: "this test".to_owned(),
            sync: "none",
            promise: "nothing".to_owned(),
            page_bytes: 0,
            cache_bytes: 0,
        }
    }

    fn is_short_of_space(&mut self) -> bool {
        self.log.lock().short
    }
}

/// What a lane reads through while its store is away.
struct FakeReader(Arc<Log>);

impl Reader for FakeReader {
    fn look(&mut self, needs: &[Need], view: &mut View, _: bool) -> Result<(), StoreError> {
        self.0.load(needs, view);
        self.0.note(format!("looked {needs:?}"));
        Ok(())
    }

    fn events(&mut self, _: ItemId, _: i64, _: usize) -> Result<Vec<Event>, StoreError> {
        Ok(Vec::new())
    }

    fn commits(&mut self, _: i64, _: usize) -> Result<Vec<Commit>, StoreError> {
        Ok(Vec::new())
    }

    fn tasks(&mut self, _: &TaskFilter) -> Result<Vec<(Body, Task)>, StoreError> {
        Ok(Vec::new())
    }

    fn items(&mut self, _: CollectionId, _: ItemId, _: usize) -> Result<Vec<Item>, StoreError> {
        Ok(Vec::new())
    }

    fn batches(&mut self, _: Option<BatchId>, _: usize) -> Result<Vec<Batch>, StoreError> {
        Ok(Vec::new())
    }
}

fn load_world(view: &mut View) {
    let (collection, flow) = (CollectionId(1), FlowId(1));
    let name = name("c");
    let row = Collection {
        id: collection,
        name,
        item: ItemId(1),
        served: 0,
        notify: vec![],
        robots: Default::default(),
    };
    view.collections.load(collection, Some(row));
    let row = FlowRow {
        id: flow,
        collection,
        name: self::name("f"),
        version: VersionId(1),
        removed: false,
        taken: None,
    };
    view.flows.load(flow, Some(row));
    for (id, step, labels) in QUEUES {
        let row = Queue {
            id: QueueId(id),
            collection,
            flow,
            step: self::name(step),
            labels: labels.iter().map(|l| self::name(l)).collect(),
            way: armarius_core::flow::Way::Outside,
            counts: [0; 7],
        };
        view.queues.load(QueueId(id), Some(row));
    }
}

/// The small rules: every command writes one row under its own name; some names mean more.
pub(crate) fn decide(view: &mut View, call: &Call) -> Result<Reply, Stop> {
    let result = answer(view, call);
    match result {
        Ok(_) => view.keep(),
        Err(_) => view.rollback(),
    }
    result
}

fn answer(view: &mut View, call: &Call) -> Result<Reply, Stop> {
    let done = Ok(Reply::Duty { did: 0, more: false });
    let name = match &call.command {
        Command::Claim(claim) => return claim_one(view, claim),
        Command::RunErrand { errand } => return run_errand(view, *errand),
        Command::Refresh | Command::Wake | Command::Expire | Command::ExpireHolds => return done,
        command => label(command),
    };
    put(view, name.clone());
    let (verb, rest) = name.split_once(':').unwrap_or((&name, ""));
    match verb {
        "no" => return Err(Refusal::new(Code::WrongState, "not now").into()),
        "need" => drop(view.destinations.get(&name)?),
        "lost" => drop(view.items.get(&ItemId(9))?),
        "broken" => panic!("the rules broke"),
        "rows" => (1..rest.parse().unwrap()).for_each(|n| put(view, format!("-{n}").into())),
        "one" | "two" => {
            let queue = QueueId(if verb == "one" { 1 } else { 2 });
            let task = TaskId(rest.parse().unwrap());
            view.ready.put(queue, Rank { behind: 0, ord: 0, task }, ());
        }
        "errand" => {
            let (id, cursor) = (ErrandId(1), rest.parse().unwrap());
            let follow = Follow::Wake(ItemId(1), 0, Text::from(""));
            let errand = Errand { id, follow, cursor, actor: self::name("x"), since: Time::ZERO };
            view.errands.put((), id, errand);
        }
        _ => {}
    }
    Ok(Reply::Ok)
}

fn claim_one(view: &mut View, claim: &Claim) -> Result<Reply, Stop> {
    for (id, _, labels) in QUEUES {
        if !labels.iter().all(|l| claim.labels.contains(&name(l))) {
            continue;
        }
        let first = view.ready.first(&QueueId(id), 1)?.next().map(|(rank, ())| *rank);
        if let Some(rank) = first {
            view.ready.delete(QueueId(id), rank);
            put(view, format!("{}<{}", claim.worker, rank.task).into());
            let lease = LeaseId(u128::try_from(rank.task.0).unwrap());
            let granted = Granted { lease, ttl: Span::seconds(1), tasks: vec![] };
            return Ok(Reply::Claimed(Some(granted)));
        }
    }
    Ok(Reply::Claimed(None))
}

fn run_errand(view: &mut View, id: ErrandId) -> Result<Reply, Stop> {
    let errand = view.errands.first(&(), 1)?.next().map(|(_, e)| e.clone()).unwrap();
    put(view, format!("piece{}", errand.cursor).into());
    if errand.cursor == 1 {
        view.errands.delete((), id);
    } else {
        view.errands.put((), id, Errand { cursor: errand.cursor - 1, ..errand });
    }
    Ok(Reply::Duty { did: 1, more: true })
}

fn put(view: &mut View, name: Text) {
    view.idems.put(name, Idem { digest: [0; 32], made: Made::Batch(BatchId(0)) });
}

fn label(command: &Command) -> Text {
    match command {
        Command::Report(report) => report.detail.clone().unwrap(),
        Command::Cancel { reason, .. } => reason.clone(),
        Command::Post { body, .. } => body.clone(),
        other => format!("{other:?}").into(),
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A report, the most urgent kind.
pub(crate) fn report(label: &str) -> Command {
    Command::Report(Report {
        lease: LeaseId(1),
        task: TaskId(1),
        token: Token(1),
        outcome: Ending::Class(Class::Success),
        detail: Some(label.into()),
        manifest: None,
        last: false,
    })
}

/// An operator's action.
pub(crate) fn action(label: &str) -> Command {
    Command::Cancel { task: TaskId(1), reason: label.into() }
}

/// A submission, the least urgent kind.
pub(crate) fn submission(label: &str) -> Command {
    Command::Post { to: "somebody".into(), body: label.into() }
}

pub(crate) fn claim(worker: &str, labels: &[&str]) -> Claim {
    Claim {
        worker: name(worker),
        labels: labels.iter().map(|l| name(l)).collect(),
        ways: Vec::new(),
        steps: vec![],
        collections: vec![],
        max: 1,
    }
}

pub(crate) fn request(command: Command) -> Request {
    Request { actor: name("tester"), idem: None, command }
}

/// A fake store's engine with everything a test needs.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    pub(crate) log: Arc<Log>,
    pub(crate) clock: Arc<HandClock>,
}

/// Where the hand clock begins.
pub(crate) const DAWN: Time = Time(1_750_000_000_000_000);

impl Bench {
    pub(crate) fn new(change: impl FnOnce(&mut Options)) -> Self {
        Self::on(false, change)
    }

    /// A bench whose commits are made on another thread, from the first command on.
    pub(crate) fn flying() -> Self {
        let bench = Self::on(true, |o| o.fly_commands_min = 1);
        // The very first commit, with the leases' fresh terms, is made on the lane's own thread.
        bench.call(action("up")).unwrap();
        bench
    }

    fn on(flies: bool, change: impl FnOnce(&mut Options)) -> Self {
        let clock = Arc::new(HandClock::at(DAWN));
        let log = Arc::new(Log::default());
        let store = FakeStore { log: Arc::clone(&log), clock: Arc::clone(&clock), flies };
        let mut options = Options {
            clock: Arc::<HandClock>::clone(&clock),
            decide,
            readers: 0,
            ..Options::default()
        };
        change(&mut options);
        let engine = Engine::start(Box::new(store), options).unwrap();
        let handle = engine.handle();
        Self { engine, handle, log, clock }
    }

    pub(crate) fn call(&self, command: Command) -> Outcome {
        self.handle.call(name("tester"), None, command)
    }

    /// Sends a command; its outcome is noted in the log and comes through the channel.
    pub(crate) fn send(&self, command: Command) -> mpsc::Receiver<Outcome> {
        let (tx, rx) = mpsc::channel();
        let (label, log) = (label(&command), Arc::clone(&self.log));
        let reply = move |outcome: Outcome| {
            log.note(format!("answered {label}"));
            tx.send(outcome).unwrap();
        };
        self.handle.send(request(command), Box::new(reply));
        rx
    }

    /// Makes the lane wait in a commit of `first`, so that what is sent next forms one group.
    pub(crate) fn hold_lane(&self) -> mpsc::Receiver<Outcome> {
        self.log.close_gate();
        let first = self.send(action("first"));
        self.log.wait_for("commit first");
        first
    }
}
