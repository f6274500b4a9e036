//! The real rules on the memory store, with clocks moved by hand and commits that fail on demand.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use armarius_core::address::ItemAddress;
use armarius_core::command::{Claim, Command, Submit};
use armarius_core::event::Commit;
use armarius_core::flow::{Flow, Step};
use armarius_core::ids::Time;
use armarius_core::reply::Granted;
use armarius_core::view::{Need, View};
use armarius_engine::chance::SeededChance;
use armarius_engine::clock::HandClock;
use armarius_engine::seam::{Description, Reader, Store, StoreError};
use armarius_engine::{Engine, Handle, Options, Outcome};
use armarius_store::{Clock, Memory, World};

use crate::fake::{DAWN, claim, name};

/// A memory store that shows its content after every commit.
struct Shown {
    memory: Memory,
    window: Arc<Window>,
}

/// What the store holds, and how many commits are still to fail.
#[derive(Default)]
struct Window {
    world: Mutex<World>,
    moved: Condvar,
    failures: AtomicUsize,
    loads: AtomicUsize,
}

impl Store for Shown {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        self.memory.begin(view)
    }

    fn is_far(&self) -> bool {
        true
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.window.loads.fetch_add(1, Ordering::SeqCst);
        self.memory.load(needs, view)
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        let failures = &self.window.failures;
        let fails = |n: usize| n.checked_sub(1);
        if failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
            return Err(StoreError::Unavailable("on demand".to_owned()));
        }
        self.memory.commit(view, commit)?;
        *self.window.world.lock().unwrap() = self.memory.dump();
        self.window.moved.notify_all();
        Ok(())
    }

    fn abandon(&mut self) {
        self.memory.abandon();
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.memory.reader()
    }

    fn describe(&self) -> Description {
        self.memory.describe()
    }
}

/// A running engine on a small world.
pub(crate) struct SmallWorld {
    pub(crate) engine: Engine,
    pub(crate) handle: Handle,
    clock: Arc<HandClock>,
    hand: Arc<AtomicI64>,
    window: Arc<Window>,
}

impl SmallWorld {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::holding(World::default(), DAWN)
    }

    /// One that already holds something, at a moment.
    pub(crate) fn holding(world: World, at: Time) -> Self {
        let (store_clock, hand) = Clock::hand(at);
        let window = Arc::new(Window::default());
        *window.world.lock().unwrap() = world.clone();
        let memory = Memory::holding(world, store_clock);
        let store = Shown { memory, window: Arc::clone(&window) };
        let clock = Arc::new(HandClock::at(at));
        let options = Options {
            clock: Arc::<HandClock>::clone(&clock),
            chance: Box::new(SeededChance::new(1)),
            ..Options::default()
        };
        let engine = Engine::start(Box::new(store), options).unwrap();
        let handle = engine.handle();
        Self { engine, handle, clock, hand, window }
    }

    /// With collection `c` and flow `f` of one step `s`, as changed.
    pub(crate) fn with_flow(change: impl FnOnce(&mut Flow)) -> Self {
        let world = Self::new();
        let put = Command::PutCollection { name: name("c"), notify: vec![] };
        world.call(put).unwrap();
        let mut flow = Flow::manual(name("f"));
        flow.tasks.push(Step::outside(name("s")));
        change(&mut flow);
        let apply = Command::ApplyFlow { collection: name("c"), flow: Box::new(flow) };
        world.call(apply).unwrap();
        world
    }

    /// How often the store was asked for something.
    pub(crate) fn loads(&self) -> usize {
        self.window.loads.load(Ordering::SeqCst)
    }

    pub(crate) fn call(&self, command: Command) -> Outcome {
        self.handle.call(name("tester"), None, command)
    }

    /// Lets time pass, for the store and for the lane.
    pub(crate) fn pass(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap();
        self.hand.fetch_add(micros, Ordering::SeqCst);
        self.clock.advance(span);
    }

    /// Sets the store's clock back, and lets time pass for the lane only.
    pub(crate) fn pass_with_store_behind(&self, behind: Duration, span: Duration) {
        self.hand.fetch_sub(i64::try_from(behind.as_micros()).unwrap(), Ordering::SeqCst);
        self.clock.advance(span);
    }

    pub(crate) fn now(&self) -> Time {
        Time(self.hand.load(Ordering::SeqCst))
    }

    /// The next commits fail.
    pub(crate) fn fail_commits(&self, count: usize) {
        self.window.failures.store(count, Ordering::SeqCst);
    }

    /// What the store holds.
    pub(crate) fn world(&self) -> World {
        self.window.world.lock().unwrap().clone()
    }

    /// Waits until the store holds something like this.
    pub(crate) fn wait_until(&self, holds: impl Fn(&World) -> bool) {
        let mut world = self.window.world.lock().unwrap();
        while !holds(&world) {
            world = self.window.moved.wait(world).unwrap();
        }
    }

    /// Waits for work as long as it takes, while `meanwhile` happens.
    pub(crate) fn claim_during(&self, worker: &str, meanwhile: impl FnOnce()) -> Option<Granted> {
        let handle = self.handle.clone();
        let wanted = claim(worker, &[]);
        let year = Duration::from_secs(31_536_000);
        let waiter = std::thread::spawn(move || handle.claim_waiting(name("tester"), wanted, year));
        meanwhile();
        waiter.join().unwrap().unwrap()
    }

    /// Stops, and gives what the store holds.
    pub(crate) fn stop(self) -> World {
        self.engine.stop().unwrap();
        Arc::into_inner(self.window).unwrap().world.into_inner().unwrap()
    }
}

pub(crate) fn submit(key: &str) -> Submit {
    Submit {
        item: ItemAddress { collection: name("c"), kind: name("k"), key: key.into() },
        flow: name("f"),
        payload: "".into(),
        priority: None,
        not_before: None,
        parts: vec![],
        depends: vec![],
        batch: None,
    }
}

pub(crate) fn claim_up_to(max: u32) -> Command {
    Command::Claim(Claim { max, ..claim("w", &[]) })
}
