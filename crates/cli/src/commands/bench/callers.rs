//! Callers at once, and the way they ask.
//!
//! In the server, whoever asks is a task of its runtime: a hundred answers wake one thread. So it
//! is here; or every caller has a thread of its own, and each answer wakes one.

use std::thread;

use anyhow::Context as _;
use armarius_engine::{EngineError, Handle, Outcome, Request};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// How many callers there are, and what each of them is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers {
    pub(crate) count: u64,
    /// Each has a thread of its own.
    pub(crate) threads: bool,
}

impl Callers {
    /// Tasks of one runtime.
    pub(super) fn tasks(count: u64) -> Self {
        Self { count, threads: false }
    }

    /// Runs them all, and gives back what each of them says.
    pub(super) fn drive<F>(self, caller: impl Fn(u64) -> F) -> anyhow::Result<Vec<F::Done>>
    where
        F: Caller,
    {
        let callers = (0..self.count).map(caller);
        if self.threads { on_threads(callers) } else { on_one_thread(callers) }
    }
}

/// What a caller does from beginning to end.
pub(super) trait Caller:
    Future<Output = anyhow::Result<Self::Done>> + Send + 'static
{
    type Done: Send + 'static;
}

impl<T: Send + 'static, F: Future<Output = anyhow::Result<T>> + Send + 'static> Caller for F {
    type Done = T;
}

fn on_one_thread<F: Caller>(callers: impl Iterator<Item = F>) -> anyhow::Result<Vec<F::Done>> {
    runtime()?.block_on(async {
        let all: JoinSet<anyhow::Result<F::Done>> = callers.collect();
        all.join_all().await.into_iter().collect()
    })
}

fn on_threads<F: Caller>(callers: impl Iterator<Item = F>) -> anyhow::Result<Vec<F::Done>> {
    let threads: Vec<_> = callers.map(|caller| thread::spawn(move || alone(caller))).collect();
    let joined = threads.into_iter().map(|t| t.join().ok().context("a caller panicked"));
    joined.map(|done| done.flatten()).collect()
}

/// Runs one caller on this thread.
pub(super) fn alone<T>(caller: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    runtime()?.block_on(caller)
}

fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().build().context("cannot start a runtime")
}

/// Asks one thing.
pub(super) async fn ask(handle: &Handle, request: Request) -> Outcome {
    let (tx, rx) = oneshot::channel();
    handle.send(request, Box::new(move |outcome| drop(tx.send(outcome))));
    rx.await.unwrap_or(Err(EngineError::Stopped))
}

/// Asks many things at once.
pub(super) async fn ask_all(handle: &Handle, requests: Vec<Request>) -> Vec<Outcome> {
    let count = requests.len();
    let (tx, rx) = oneshot::channel();
    handle.send_many(requests, Box::new(move |outcomes| drop(tx.send(outcomes))));
    rx.await.unwrap_or_else(|_| vec![Err(EngineError::Stopped); count])
}
