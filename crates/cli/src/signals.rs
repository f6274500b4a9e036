//! Signals: the one place where the process is asked to end.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT.
pub(crate) struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    /// Listens from now on. Only inside a runtime.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let on = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
