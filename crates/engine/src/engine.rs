//! Starting and stopping.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::exit::Fatal;
use crate::handle::{Handle, Shared};
use crate::lane;
use crate::options::Options;
use crate::queue::{Queue, Stage};
use crate::readers::Readers;
use crate::seam::{Store, StoreError};

/// A running lane with its store.
pub struct Engine {
    handle: Handle,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store gave no reader.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The operating system gave no thread.
    #[error("cannot start the lane's thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl Engine {
    /// Starts a lane on a store.
    pub fn start(store: Box<dyn Store>, options: Options) -> Result<Self, StartError> {
        let readers: Result<Vec<_>, _> = (0..options.readers).map(|_| store.reader()).collect();
        let shared = Arc::new(Shared {
            queue: Queue::new(options.line_commands_max),
            readers: Readers::new(readers?),
            tally: Mutex::default(),
            clock: Arc::clone(&options.clock),
        });
        let weak = Arc::downgrade(&shared);
        options.clock.when_moved(Box::new(move || {
            if let Some(shared) = weak.upgrade() {
                shared.queue.nudge();
            }
        }));
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name(format!("armarius-lane-{}", options.shard))
            .spawn(move || lane::run(store, options, &own))?;
        let handle = Handle::new(Arc::clone(&shared));
        Ok(Self { handle, shared, thread: Some(thread) })
    }

    /// The way in.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Takes nothing new, answers what is waiting, makes it durable, and ends. Claims that wait for
    /// work get none. Says so if the lane had already stopped for good.
    pub fn stop(mut self) -> Result<(), Fatal> {
        self.finish();
        match self.shared.queue.stage() {
            Stage::Running | Stage::Stopping | Stage::Stopped => Ok(()),
            Stage::Failed(fatal) => Err(fatal),
        }
    }

    fn finish(&mut self) {
        self.shared.queue.close();
        if let Some(thread) = self.thread.take() {
            // A lane that broke has already said so through its stage.
            drop(thread.join());
        }
        self.shared.readers.close();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.finish();
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({:?})", self.shared.queue.stage())
    }
}
