//! What the routes share: the way to the engine, the keys, what the store promises.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use armarius_core::command::{Claim, Command};
use armarius_core::ids::FlowId;
use armarius_core::refusal::Refusal;
use armarius_core::reply::{Granted, Reply};
use armarius_core::task::State as TaskState;
use armarius_core::text::{Name, Text};
use armarius_core::view::View;
use armarius_engine::seam::{Description, StoreError};
use armarius_engine::{EngineError, Handle, Outcome, Request};
use tokio::sync::{oneshot, watch};

use crate::attendance::Attendance;
use crate::feed::Pulse;
use crate::keys::{Caller, Ring};
use crate::look::{Look, Lost};
use crate::metrics::Traffic;
use crate::pages::{NOTE_EVERY, Pace};
use crate::problem::{Fault, Own};
use crate::rates::{MISTAKES, PER_KEY, Rate, Rates};
use crate::registry::Registry;
use crate::repositories::{Nothing, Repositories};
use crate::session::Sessions;
use crate::shelf::Shelf;
use crate::verdicts::Verdicts;

/// How often the keys are read again.
const KEYS_EVERY: Duration = Duration::from_secs(1);

/// What the routes share; cheap to clone.
#[derive(Clone, Debug)]
pub struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    keys: Ring,
    store: Description,
    began: Instant,
    shelf: OnceLock<Shelf>,
    repositories: OnceLock<Arc<dyn Repositories>>,
    attendance: Attendance,
    /// Whether those who follow something are to leave.
    home: watch::Sender<bool>,
    registry: Registry,
    sessions: Sessions,
    rates: Rates,
    traffic: Traffic,
    pulse: Pulse,
    pace: Pace,
    verdicts: Verdicts,
    settings: Settings,
}

/// What differs between one server and another.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whether connections are encrypted here.
    pub tls: bool,
    /// Whether a proxy in front says how its clients reached it.
    pub behind_proxy: bool,
    /// How often a key may ask.
    pub per_key: Rate,
    /// How often an address may be wrong.
    pub mistakes: Rate,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tls: false, behind_proxy: false, per_key: PER_KEY, mistakes: MISTAKES }
    }
}

impl App {
    /// Brings the parts together.
    #[must_use]
    pub fn new(handle: Handle, keys: Ring, store: Description, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            handle,
            keys,
            store,
            began: Instant::now(),
            shelf: OnceLock::new(),
            repositories: OnceLock::new(),
            attendance: Attendance::default(),
            home: watch::Sender::new(false),
            registry: Registry::default(),
            sessions: Sessions::default(),
            rates: Rates::new(settings.per_key, settings.mistakes),
            traffic: Traffic::default(),
            pulse: Pulse::default(),
            pace: Pace::default(),
            verdicts: Verdicts::default(),
            settings,
        }))
    }

    /// Gives it a place for what is kept beside the store; the first one counts.
    #[must_use]
    pub fn with_shelf(self, shelf: Shelf) -> Self {
        drop(self.0.shelf.set(shelf));
        self
    }

    /// What is kept beside the store.
    pub(crate) fn shelf(&self) -> Result<&Shelf, Fault> {
        let none = || Fault::own(Own::Unavailable, "this server keeps no output", "ask another");
        self.0.shelf.get().ok_or_else(none)
    }

    /// Gives it the repositories of archives; the first ones count.
    #[must_use]
    pub fn with_repositories(self, repositories: Arc<dyn Repositories>) -> Self {
        drop(self.0.repositories.set(repositories));
        self
    }

    pub(crate) fn repositories(&self) -> Arc<dyn Repositories> {
        self.0.repositories.get().map_or_else(|| Arc::new(Nothing) as _, Arc::clone)
    }

    /// Asks repositories something, on a thread beside the runtime: they may take their time.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Repositories) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Fault> {
        let repositories = self.repositories();
        let asked = tokio::task::spawn_blocking(move || question(&*repositories)).await;
        let broke = |_| Fault::own(Own::Internal, "a question broke", "report it");
        asked.map_err(broke)?.map_err(|why| {
            let code = armarius_core::Code::WrongState;
            let hint = "see to the repository, and to what the server may read";
            Refusal::new(code, why).hint(hint).into()
        })
    }

    /// Which workers ask for work.
    pub(crate) fn attendance(&self) -> &Attendance {
        &self.0.attendance
    }

    /// The sessions this server saw.
    #[must_use]
    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.0.pace
    }

    pub(crate) fn verdicts(&self) -> &Verdicts {
        &self.0.verdicts
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    /// Keeps what this server has in memory up to date, until it is dropped: keys that another
    /// server changed, and how fast work goes.
    pub async fn tend(self) {
        let mut noted: Option<Instant> = None;
        loop {
            let app = self.clone();
            let asked = tokio::task::spawn_blocking(move || app.0.keys.refresh()).await;
            if let Ok(Err(error)) = asked {
                tracing::warn!("the keys could not be read again: {error}");
            }
            if noted.is_none_or(|at| at.elapsed() >= NOTE_EVERY) {
                noted = Some(Instant::now());
                if let Ok(done) = self.look(|look| Ok(done(&look.view))).await {
                    self.0.pace.note(done);
                }
            }
            tokio::time::sleep(KEYS_EVERY).await;
        }
    }

    /// Turns true when the server stops.
    pub(crate) fn sent_home(&self) -> watch::Receiver<bool> {
        self.0.home.subscribe()
    }

    /// The server stops: whoever follows something is sent home. Claims that wait are answered by
    /// the engine when it stops.
    pub fn send_home(&self) {
        self.0.home.send_replace(true);
        self.0.pulse.close();
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &Ring {
        &self.0.keys
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    pub(crate) fn store(&self) -> &Description {
        &self.0.store
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// Asks the engine; answered after the change is durable.
    pub(crate) async fn ask(&self, caller: &Caller, command: Command) -> Result<Reply, Fault> {
        self.ask_once(caller, None, command).await
    }

    /// As [`App::ask`]: the same id never makes a second thing.
    pub(crate) async fn ask_once(
        &self,
        caller: &Caller,
        id: Option<&str>,
        command: Command,
    ) -> Result<Reply, Fault> {
        if let Some(rehearsal) = caller.rehearsal.clone() {
            return rehearsal.play(self, caller, id, command).await;
        }
        let request = Request { actor: caller.actor.clone(), idem: id.map(Text::from), command };
        Ok(self.ask_plainly(request).await?)
    }

    /// As [`App::ask`], with the engine's own answer.
    pub(crate) async fn ask_plainly(&self, request: Request) -> Outcome {
        let (tx, rx) = oneshot::channel();
        self.0.handle.send(request, Box::new(move |outcome| drop(tx.send(outcome))));
        rx.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// Asks the engine, and does not wait for an answer.
    pub(crate) fn tell(&self, caller: &Caller, command: Command) {
        let request = Request { actor: caller.actor.clone(), idem: None, command };
        self.0.handle.send(request, Box::new(drop));
    }

    /// Reads the keys again if this one is not known: another server may just have made it.
    pub(crate) async fn know(&self, key: &Name) {
        if self.0.keys.holder(key).is_none() {
            let app = self.clone();
            // If it cannot be read now, it opens nothing now.
            drop(tokio::task::spawn_blocking(move || app.0.keys.refresh()).await);
        }
    }

    /// Asks many things; each is answered for itself, in order.
    pub(crate) async fn ask_many(&self, requests: Vec<Request>) -> Vec<Outcome> {
        let count = requests.len();
        let (tx, rx) = oneshot::channel();
        self.0.handle.send_many(requests, Box::new(move |outcomes| drop(tx.send(outcomes))));
        rx.await.unwrap_or_else(|_| vec![Err(EngineError::Stopped); count])
    }

    /// Asks for work and waits for it. Whoever drops the future gives up the seat, and what was
    /// already granted is given back.
    pub(crate) async fn claim(
        &self,
        caller: &Caller,
        claim: Claim,
        wait: Duration,
    ) -> Result<Option<Grant>, EngineError> {
        let (tx, rx) = oneshot::channel();
        let (handle, actor) = (self.0.handle.clone(), caller.actor.clone());
        let reply = move |outcome: Outcome| {
            let taken = outcome.map(|reply| match reply {
                Reply::Claimed(granted) => granted.map(|g| Grant::new(handle, actor, g)),
                _ => None,
            });
            // A receiver that is gone drops the grant, which gives it back.
            drop(tx.send(taken));
        };
        let _seat = self.0.handle.send_claim(caller.actor.clone(), claim, wait, Box::new(reply));
        rx.await.unwrap_or(Err(EngineError::Stopped))
    }

    /// Asks a question of the store's read-only side, on a thread beside the runtime.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Look<'_>) -> Result<T, Lost> + Send + 'static,
    ) -> Result<T, Fault> {
        let app = self.clone();
        let asked = move || {
            let (registry, shards) = (&app.0.registry, app.0.handle.shards());
            app.0
                .handle
                .question(|reader| plainly(question(&mut Look::begin(reader, registry, shards)?)))
        };
        beside(asked).await
    }

    /// As [`App::look`], reading one shard: commits are numbered per shard.
    pub(crate) async fn look_in<T: Send + 'static>(
        &self,
        shard: u16,
        question: impl FnOnce(&mut Look<'_>) -> Result<T, Lost> + Send + 'static,
    ) -> Result<T, Fault> {
        let shards = self.0.handle.shards();
        if shards == 1 {
            return self.look(question).await;
        }
        let app = self.clone();
        let asked = move || {
            let (handle, registry) = (&app.0.handle, &app.0.registry);
            let view = handle.question(|reader| registry.sheet(reader))?;
            handle
                .question_in(shard, |reader| plainly(question(&mut Look { reader, view, shards })))
        };
        beside(asked).await
    }
}

/// Runs a question on a thread beside the runtime.
async fn beside<T: Send + 'static>(
    asked: impl FnOnce() -> Result<Result<T, Refusal>, EngineError> + Send + 'static,
) -> Result<T, Fault> {
    let answer = tokio::task::spawn_blocking(asked).await;
    let broke = |_| Fault::own(Own::Internal, "a question broke", "report it");
    answer.map_err(broke)??.map_err(Fault::from)
}

/// A refusal is an answer to a reader; only what the store could not do is an error.
fn plainly<T>(answer: Result<T, Lost>) -> Result<Result<T, Refusal>, StoreError> {
    match answer {
        Ok(answer) => Ok(Ok(answer)),
        Err(Lost::Refused(refusal)) => Ok(Err(refusal)),
        Err(Lost::Store(error)) => Err(error),
    }
}

/// Tasks done, by flow.
fn done(view: &View) -> BTreeMap<FlowId, i64> {
    let place = TaskState::Done.index();
    let mut done = BTreeMap::new();
    for (_, queue) in view.queues.iter() {
        *done.entry(queue.flow).or_default() += queue.counts.get(place).copied().unwrap_or(0);
    }
    done
}

/// Granted work on its way to a worker. It is given back unless it is taken.
pub(crate) struct Grant {
    handle: Handle,
    actor: Name,
    granted: Option<Granted>,
}

impl Grant {
    fn new(handle: Handle, actor: Name, granted: Granted) -> Self {
        Self { handle, actor, granted: Some(granted) }
    }

    /// The work is about to be written to its worker.
    pub(crate) fn take(mut self) -> Option<Granted> {
        self.granted.take()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if let Some(granted) = self.granted.take() {
            let command = Command::GiveBack { lease: granted.lease };
            let request = Request { actor: self.actor.clone(), idem: None, command };
            // If this does not arrive either, the lease lapses.
            self.handle.send(request, Box::new(drop));
        }
    }
}
