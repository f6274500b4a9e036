//! Delivers the letters of the outbox: to web hooks, and to files.
//!
//! A letter is kept with the fact that caused it and leaves afterwards. One thread looks which
//! destinations are due; a few others deliver, each destination in one pair of hands at a time, its
//! letters one by one and in order. What came of a delivery is a command like any other. A process
//! that dies between a delivery and its record delivers the letter again, with the same number: who
//! receives letters passes over numbers it has seen. Nothing here touches the lane while it waits.
//!
//! Reading order: `round` (who is due) · `delivery` (one letter) · `webhook`, `file` (how) ·
//! `address` (where letters may go) · `pause` (when a letter is tried again).

mod address;
mod delivery;
mod file;
mod pause;
mod round;
mod webhook;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use armarius_engine::Handle;

use delivery::Deliverer;
use round::Round;

/// Destinations that are served at the same time.
const DELIVERERS: usize = 4;

/// Where letters may go, and how long that may take.
#[derive(Clone, Debug)]
pub struct Options {
    /// Hosts, each `HOST` or `HOST:PORT`, that may be reached although their addresses are private.
    pub allow: Vec<String>,
    /// The folder of letters to `file:NAME`; they are refused without it.
    pub folder: Option<PathBuf>,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// How long after the first failure a letter is tried again; twice as long after each further.
    pub pause_min: Duration,
    /// At most.
    pub pause_max: Duration,
    /// Told about failures, for the log.
    pub log: fn(&str),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            folder: None,
            timeout: Duration::from_secs(30),
            pause_min: Duration::from_secs(1),
            pause_max: Duration::from_secs(3_600),
            log: |_| {},
        }
    }
}

/// The threads that deliver.
#[derive(Debug)]
pub struct Postman {
    round: Arc<Round>,
    threads: Vec<JoinHandle<()>>,
}

impl Postman {
    /// Begins to deliver.
    pub fn start(handle: Handle, options: Options) -> io::Result<Self> {
        let round = Arc::new(Round::new(handle.clone()));
        let deliverer = Arc::new(Deliverer::new(handle, options));
        let mut threads = Vec::new();
        let looking = Arc::clone(&round);
        let thread = thread::Builder::new().name("outbox".to_owned());
        threads.push(thread.spawn(move || looking.look_out())?);
        for n in 0..DELIVERERS {
            let (round, deliverer) = (Arc::clone(&round), Arc::clone(&deliverer));
            let thread = thread::Builder::new().name(format!("outbox-{n}"));
            threads.push(thread.spawn(move || round.serve(&deliverer))?);
        }
        Ok(Self { round, threads })
    }

    /// Takes nothing new. What is on its way is not waited for: if it arrives without a record, it
    /// is delivered once more after the next start.
    pub fn stop(self) {
        self.round.close();
        let idle = self.threads.into_iter().filter(JoinHandle::is_finished);
        // A thread that broke has nothing more to say.
        idle.for_each(|thread| drop(thread.join()));
    }
}
