//! Wakes those who follow the feed when there may be something new.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::app::App;

/// How often to see whether this server has committed something, while anybody follows.
const LOOK_REST: Duration = Duration::from_millis(50);
/// After so many looks the store itself is asked: another server may have committed.
const ASK_EVERY: u32 = 10;
/// Clients that may follow at once.
const FOLLOWERS_MAX: usize = 1_000;

/// One pulse for all who follow.
#[derive(Debug)]
pub(crate) struct Pulse {
    beats: watch::Sender<u64>,
    running: AtomicBool,
    closed: AtomicBool,
    seats: Arc<Semaphore>,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            beats: watch::Sender::new(0),
            running: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            seats: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
        }
    }
}

impl Pulse {
    /// A seat among those who follow, if there is one.
    pub(super) fn seat(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.seats).try_acquire_owned().ok()
    }

    /// How many follow.
    pub(crate) fn followers(&self) -> usize {
        FOLLOWERS_MAX - self.seats.available_permits()
    }

    /// Tells of news from now on. The first who watches starts the pulse.
    pub(crate) fn watch(&self, app: &App) -> watch::Receiver<u64> {
        let watching = self.beats.subscribe();
        if !self.running.swap(true, Ordering::AcqRel) {
            tokio::spawn(run(app.clone()));
        }
        watching
    }

    /// The server stops: everybody is sent home.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.beats.send_modify(|n| *n += 1);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// Beats while anybody watches.
async fn run(app: App) {
    let pulse = app.pulse();
    let mut seen = (0, 0);
    loop {
        for look in 0..ASK_EVERY {
            tokio::time::sleep(LOOK_REST).await;
            let commits = app.handle().stats().commits;
            if commits != seen.0 || look + 1 == ASK_EVERY {
                let head = app.look(|look| Ok(look.reader.head()?.n)).await.unwrap_or(seen.1);
                if (commits, head) != seen {
                    seen = (commits, head);
                    pulse.beats.send_modify(|n| *n += 1);
                }
            }
        }
        if pulse.beats.receiver_count() == 0 {
            pulse.running.store(false, Ordering::Release);
            // Somebody may have come just now, seen it running, and be left without.
            if pulse.beats.receiver_count() == 0 || pulse.running.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        if pulse.is_closed() {
            return;
        }
    }
}
