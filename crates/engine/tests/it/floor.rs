//! The real rules on a database of several shards in memory, for one engine or two.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use armarius_core::address::ItemAddress;
use armarius_core::command::{Claim, Command, Ending, Report, Submit};
use armarius_core::flow::{Class, Flow, Step};
use armarius_core::ids::{Time, shard_of};
use armarius_core::reply::{Granted, Reply};
use armarius_core::text::Name;
use armarius_engine::clock::HandClock;
use armarius_engine::{Engine, Handle, Options, Outcome, Request, Seat};
use armarius_store::Clock;
use armarius_store::memory::Shards;

use crate::fake::{DAWN, claim, name};

/// Longer than any test should wait.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A database, its clock, and collections in it.
pub(crate) struct Hallway {
    pub(crate) database: Shards,
    hand: Option<Arc<AtomicI64>>,
}

impl Hallway {
    /// Of so many shards, on the machine's clock.
    pub(crate) fn new(shards: u16) -> Self {
        Self { database: Shards::new(shards, Clock::System), hand: None }
    }

    /// That tells nobody of its commits.
    pub(crate) fn silent(shards: u16) -> Self {
        Self { database: Shards::silent(shards, Clock::System), hand: None }
    }

    /// On a clock moved by hand.
    pub(crate) fn by_hand(shards: u16) -> Self {
        let (clock, hand) = Clock::hand(DAWN);
        Self { database: Shards::new(shards, clock), hand: Some(hand) }
    }

    /// Moves the database's clock.
    pub(crate) fn pass(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap();
        self.hand.as_ref().unwrap().fetch_add(micros, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Time {
        Time(self.hand.as_ref().unwrap().load(Ordering::SeqCst))
    }

    /// An engine on it.
    pub(crate) fn engine(&self) -> Server {
        self.engine_with(Options::default())
    }

    /// An engine whose lanes wait by a clock moved by hand.
    pub(crate) fn engine_by_hand(&self) -> (Server, Arc<HandClock>) {
        let clock = Arc::new(HandClock::at(DAWN));
        let options = Options { clock: Arc::<HandClock>::clone(&clock), ..Options::default() };
        (self.engine_with(options), clock)
    }

    fn engine_with(&self, options: Options) -> Server {
        let engine = Engine::start_all(&self.database, options).unwrap();
        Server { handle: engine.handle(), engine }
    }

    /// The first name that belongs to a shard, after leaving out some.
    pub(crate) fn named(&self, shard: u16, leave_out: usize) -> Name {
        let names = (0..).map(|n| name(&format!("c{n}")));
        let mut here = names.filter(|n| self.database.place_of(n) == shard);
        here.nth(leave_out).unwrap()
    }
}

/// One of the engines.
pub(crate) struct Server {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
}

impl Server {
    pub(crate) fn call(&self, command: Command) -> Outcome {
        self.handle.call(name("tester"), None, command)
    }

    /// Makes a collection with flow `f` of one step `s`.
    pub(crate) fn settle(&self, collection: &Name) {
        self.settle_with(collection, |_| {});
    }

    /// As [`Server::settle`], with the flow as changed.
    pub(crate) fn settle_with(&self, collection: &Name, change: impl FnOnce(&mut Flow)) {
        self.call(Command::PutCollection { name: collection.clone(), notify: vec![] }).unwrap();
        let mut flow = Flow::manual(name("f"));
        flow.tasks.push(Step::outside(name("s")));
        change(&mut flow);
        let apply = Command::ApplyFlow { collection: collection.clone(), flow: Box::new(flow) };
        self.call(apply).unwrap();
    }

    pub(crate) fn submit(&self, collection: &Name, key: &str, priority: i32) -> Reply {
        self.call(submission(collection, key, priority)).unwrap()
    }

    /// Claims one task without waiting: its collection and key.
    pub(crate) fn take(&self, worker: &str) -> Option<String> {
        let reply = self.call(Command::Claim(claim(worker, &[]))).unwrap();
        let Reply::Claimed(granted) = reply else { panic!("{reply:?}") };
        granted.as_ref().map(told)
    }

    /// Claims one task without waiting.
    pub(crate) fn grant(&self, worker: &str) -> Option<Granted> {
        let reply = self.call(Command::Claim(claim(worker, &[]))).unwrap();
        let Reply::Claimed(granted) = reply else { panic!("{reply:?}") };
        granted
    }

    /// Waits in line for work; the answer comes through the channel.
    pub(crate) fn wait(&self, wanted: Claim) -> (mpsc::Receiver<Outcome>, Seat) {
        let (tx, rx) = mpsc::channel();
        let reply = Box::new(move |o| drop(tx.send(o)));
        (rx, self.handle.send_claim(name("tester"), wanted, LONG, reply))
    }

    /// Waits until so many claims are parked.
    pub(crate) fn parked(&self, count: usize) {
        until(|| self.handle.stats().parked == count);
    }

    pub(crate) fn report(&self, granted: &Granted) -> Outcome {
        let task = &granted.tasks[0];
        self.call(Command::Report(Report {
            lease: granted.lease,
            task: task.task,
            token: task.token,
            outcome: Ending::Class(Class::Success),
            detail: None,
            manifest: None,
            last: false,
        }))
    }
}

pub(crate) fn submission(collection: &Name, key: &str, priority: i32) -> Command {
    Command::Submit(Submit {
        item: ItemAddress { collection: collection.clone(), kind: name("k"), key: key.into() },
        flow: name("f"),
        payload: "".into(),
        priority: Some(priority),
        not_before: None,
        parts: vec![],
        depends: vec![],
        batch: None,
    })
}

pub(crate) fn request(command: Command) -> Request {
    Request { actor: name("tester"), idem: None, command }
}

/// `collection/key` of the first task.
pub(crate) fn told(granted: &Granted) -> String {
    let task = &granted.tasks[0];
    format!("{}/{}", task.collection, task.item.key)
}

/// What a waiting claim was given.
pub(crate) fn given(rx: &mpsc::Receiver<Outcome>) -> Option<String> {
    match rx.recv_timeout(LONG).unwrap() {
        Ok(Reply::Claimed(granted)) => granted.as_ref().map(told),
        other => panic!("{other:?}"),
    }
}

/// The shard that made a granted task's number.
pub(crate) fn home(granted: &Granted) -> u16 {
    shard_of(granted.tasks[0].task.0)
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn until(holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONG, "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}
