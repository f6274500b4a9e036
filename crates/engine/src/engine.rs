//! Starting and stopping.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::chance::{Chance, Dry};
use crate::exit::Fatal;
use crate::floor::{self, Floor};
use crate::hall::Hall;
use crate::handle::{Handle, Hub, Shared};
use crate::lane::{self, Around};
use crate::options::{OnFatal, Options};
use crate::queue::Stage;
use crate::readers::Readers;
use crate::seam::{Database, Store, StoreError};

/// Running lanes with their stores.
pub struct Engine {
    handle: Handle,
    hub: Arc<Hub>,
    lanes: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store gave no reader.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The operating system gave no thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl Engine {
    /// Starts a lane on a store.
    pub fn start(store: Box<dyn Store>, options: Options) -> Result<Self, StartError> {
        let readers: Result<Vec<_>, _> = (0..options.readers).map(|_| store.reader()).collect();
        let shared = Arc::new(Shared::new(options.line_commands_max, Arc::clone(&options.clock)));
        let hall = Arc::new(Hall::default());
        let hub = Hub {
            lanes: vec![Arc::clone(&shared)],
            hall: Arc::clone(&hall),
            floor: None,
            readers: Readers::new(readers?),
            shard_readers: Vec::new(),
            clock: Arc::clone(&options.clock),
        };
        let mut engine = Self::around(hub);
        engine.start_lane(store, options, shared, Around { hall, floor: None })?;
        Ok(engine)
    }

    /// Starts a lane for every shard of a database, which other engines may share. What `options`
    /// says about one lane holds for each.
    pub fn start_all(database: &dyn Database, options: Options) -> Result<Self, StartError> {
        let shards = database.shards();
        let readers: Result<Vec<_>, _> = (0..options.readers).map(|_| database.reader()).collect();
        let stores: Vec<_> =
            (0..shards).map(|shard| database.open(shard)).collect::<Result<_, _>>()?;
        let mut shard_readers = Vec::with_capacity(stores.len());
        for store in stores.iter().filter(|_| options.readers > 0) {
            shard_readers.push(Readers::new(vec![store.reader()?]));
        }
        let clock = Arc::clone(&options.clock);
        let lane = |_| Arc::new(Shared::new(options.line_commands_max, Arc::clone(&clock)));
        let lanes: Vec<_> = (0..shards).map(lane).collect();
        let hall = Arc::new(Hall::default());
        let floor = Arc::new(Floor::new(
            lanes.clone(),
            Arc::clone(&hall),
            database.atlas()?,
            Arc::clone(&clock),
            options.line_commands_max,
        ));
        let hub = Hub {
            lanes: lanes.clone(),
            hall: Arc::clone(&hall),
            floor: Some(Arc::clone(&floor)),
            readers: Readers::new(readers?),
            shard_readers,
            clock,
        };
        let mut engine = Self::around(hub);
        let each = Each::of(options);
        for ((shard, store), shared) in (0..shards).zip(stores).zip(lanes) {
            let around = Around { hall: Arc::clone(&hall), floor: Some(Arc::clone(&floor)) };
            engine.start_lane(store, each.options(shard), shared, around)?;
        }
        engine.start_others(database, &floor)?;
        Ok(engine)
    }

    fn around(hub: Hub) -> Self {
        let hub = Arc::new(hub);
        let weak = Arc::downgrade(&hub);
        hub.clock.when_moved(Box::new(move || {
            if let Some(hub) = weak.upgrade() {
                hub.nudge();
            }
        }));
        let handle = Handle::new(Arc::clone(&hub));
        Self { handle, hub, lanes: Vec::new(), others: Vec::new() }
    }

    fn start_lane(
        &mut self,
        store: Box<dyn Store>,
        options: Options,
        shared: Arc<Shared>,
        around: Around,
    ) -> Result<(), StartError> {
        let name = format!("armarius-lane-{}", options.shard);
        let run = move || lane::run(store, options, &shared, around);
        self.lanes.push(thread::Builder::new().name(name).spawn(run)?);
        Ok(())
    }

    /// The threads beside the lanes: who asks for others, who watches, who listens.
    fn start_others(
        &mut self,
        database: &dyn Database,
        floor: &Arc<Floor>,
    ) -> Result<(), StartError> {
        let thread = |name: &str| thread::Builder::new().name(format!("armarius-{name}"));
        let (own, atlas) = (Arc::clone(floor), database.atlas()?);
        self.others.push(thread("watch").spawn(move || floor::watch_over(&own, atlas))?);
        let own = Arc::clone(floor);
        self.others.push(thread("usher").spawn(move || own.usher())?);
        if let Some(signals) = database.signals()? {
            let own = Arc::clone(floor);
            self.others.push(thread("ear").spawn(move || floor::listen(&own, signals))?);
        }
        Ok(())
    }

    /// The way in.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Takes nothing new, answers what is waiting, makes it durable, and ends. Claims that wait for
    /// work get none. Says so if a lane had already stopped for good.
    pub fn stop(mut self) -> Result<(), Fatal> {
        self.finish();
        match self.hub.stage() {
            Stage::Running | Stage::Stopping | Stage::Stopped => Ok(()),
            Stage::Failed(fatal) => Err(fatal),
        }
    }

    fn finish(&mut self) {
        self.hub.close();
        // A lane that broke has already said so through its stage.
        for thread in self.lanes.drain(..).chain(self.others.drain(..)) {
            drop(thread.join());
        }
        self.hub.readers.close();
        self.hub.shard_readers.iter().for_each(Readers::close);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.finish();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({:?})", self.hub.stage())
    }
}

/// Options for each of several lanes.
struct Each {
    options: Options,
    chance: Arc<Mutex<Box<dyn Chance>>>,
    on_fatal: Arc<Mutex<Option<OnFatal>>>,
}

impl Each {
    fn of(mut options: Options) -> Self {
        let chance = std::mem::replace(&mut options.chance, Box::new(Empty));
        let on_fatal = options.on_fatal.take();
        Self {
            options,
            chance: Arc::new(Mutex::new(chance)),
            on_fatal: Arc::new(Mutex::new(on_fatal)),
        }
    }

    fn options(&self, shard: u16) -> Options {
        let on_fatal = Arc::clone(&self.on_fatal);
        Options {
            shard,
            clock: Arc::clone(&self.options.clock),
            chance: Box::new(Common(Arc::clone(&self.chance))),
            decide: self.options.decide,
            with_duties: self.options.with_duties,
            group_rows_max: self.options.group_rows_max,
            fly_commands_min: self.options.fly_commands_min,
            line_commands_max: self.options.line_commands_max,
            cache_rows_max: self.options.cache_rows_max,
            readers: 0,
            on_word: Arc::clone(&self.options.on_word),
            on_fatal: Some(Box::new(move |fatal: &Fatal| {
                // The first one tells; the others end because of it.
                let tell = on_fatal.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(tell) = tell {
                    tell(fatal);
                }
            })),
        }
    }
}

/// One source of random bits for all lanes.
struct Common(Arc<Mutex<Box<dyn Chance>>>);

impl Chance for Common {
    fn draw(&mut self) -> Result<u128, Dry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).draw()
    }
}

/// Stands where a source was taken away.
struct Empty;

impl Chance for Empty {
    fn draw(&mut self) -> Result<u128, Dry> {
        Err(Dry::new("the source belongs to somebody else"))
    }
}
