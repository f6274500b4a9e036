//! The way in: cheap to clone, usable from any thread.
//!
//! Commands of one line are decided in the order they came; between lines there is no order except
//! that a command is never decided before one whose reply its caller had already seen.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use armarius_core::command::{Claim, Command};
use armarius_core::flow::On;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::{Granted, Reply};
use armarius_core::text::{Name, Text};

use crate::calendar;
use crate::clock::Clock;
use crate::error::{EngineError, Outcome};
use crate::floor::Floor;
use crate::hall::Hall;
use crate::options::{BULK_COMMANDS_MAX, CALL_WAIT_MAX};
use crate::order::{Answer, OnReplies, OnReply, Order, Park, Request, Seat, Tray};
use crate::queue::{Queue, Stage};
use crate::readers::Readers;
use crate::seam::{Reader, StoreError};
use crate::stats::{Stats, Tally};
use crate::urgency::Urgency;

/// The way to a running engine.
#[derive(Clone)]
pub struct Handle {
    hub: Arc<Hub>,
}

/// What all handles of an engine share.
pub(crate) struct Hub {
    pub(crate) lanes: Vec<Arc<Shared>>,
    pub(crate) hall: Arc<Hall>,
    /// What stands between the lanes, where there are several.
    pub(crate) floor: Option<Arc<Floor>>,
    pub(crate) readers: Readers,
    /// One for each of several shards.
    pub(crate) shard_readers: Vec<Readers>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// What handles and one lane share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Shared {
    pub(crate) fn new(line_commands_max: usize, clock: Arc<dyn Clock>) -> Self {
        Self { queue: Queue::new(line_commands_max), tally: Mutex::default(), clock }
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// The engine's stage: a lane that failed speaks for all.
    pub(crate) fn stage(&self) -> Stage {
        let mut stage = Stage::Stopped;
        for lane in &self.lanes {
            match lane.queue.stage() {
                failed @ Stage::Failed(_) => return failed,
                Stage::Stopped => {}
                other @ (Stage::Running | Stage::Stopping) => stage = other,
            }
        }
        stage
    }

    /// Takes nothing new from now on.
    pub(crate) fn close(&self) {
        match &self.floor {
            Some(floor) => floor.close(),
            None => self.lanes.iter().for_each(|lane| lane.queue.close()),
        }
    }

    /// Wakes whoever waits by the clock to look at it again.
    pub(crate) fn nudge(&self) {
        self.lanes.iter().for_each(|lane| lane.queue.nudge());
        if let Some(floor) = &self.floor {
            floor.nudge();
        }
    }
}

impl Handle {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    /// Asks and waits for the answer. When its line is full it waits for room, at most
    /// [`CALL_WAIT_MAX`], then it is `busy`; once in line it is always answered.
    pub fn call(&self, actor: Name, idem: Option<Text>, command: Command) -> Outcome {
        self.call_within(Request { actor, idem, command }, CALL_WAIT_MAX)
    }

    /// As [`Handle::call`], but `busy` at once when the line is full.
    pub fn try_call(&self, actor: Name, idem: Option<Text>, command: Command) -> Outcome {
        self.call_within(Request { actor, idem, command }, Duration::ZERO)
    }

    /// As [`Handle::call`], waiting for room no longer than `patience`.
    pub fn call_within(&self, request: Request, patience: Duration) -> Outcome {
        let (tx, rx) = mpsc::sync_channel(1);
        self.push(request, Box::new(move |o| drop(tx.send(o))), None, patience);
        rx.recv().unwrap_or(Err(EngineError::Stopped))
    }

    /// Asks without waiting. The reply is called once: at once when the line is full, else on the
    /// lane's thread after the change is durable.
    pub fn send(&self, request: Request, reply: OnReply) {
        self.push(request, reply, None, Duration::ZERO);
    }

    /// Asks many things and waits for all answers; each is a command of its own, in order. The
    /// whole waits in the line of its least urgent command.
    pub fn submit_many(&self, requests: Vec<Request>) -> Vec<Outcome> {
        let (tx, rx) = mpsc::sync_channel(1);
        self.push_many(requests, Box::new(move |o| drop(tx.send(o))), CALL_WAIT_MAX);
        rx.recv().unwrap_or_default()
    }

    /// As [`Handle::submit_many`] without waiting; commands that find no room are `busy`.
    pub fn send_many(&self, requests: Vec<Request>, reply: OnReplies) {
        self.push_many(requests, reply, Duration::ZERO);
    }

    /// Asks for work and, if there is none, waits for it, at most `wait`.
    pub fn claim_waiting(
        &self,
        actor: Name,
        claim: Claim,
        wait: Duration,
    ) -> Result<Option<Granted>, EngineError> {
        let (tx, rx) = mpsc::sync_channel(1);
        let _seat = self.send_claim(actor, claim, wait, Box::new(move |o| drop(tx.send(o))));
        match rx.recv().unwrap_or(Err(EngineError::Stopped))? {
            Reply::Claimed(granted) => Ok(granted),
            other => Err(EngineError::Internal(format!("a claim was answered with {other:?}"))),
        }
    }

    /// As [`Handle::claim_waiting`] without blocking. Dropping the seat ends the waiting.
    pub fn send_claim(&self, actor: Name, claim: Claim, wait: Duration, reply: OnReply) -> Seat {
        let (seat, left) = Seat::new();
        let until = self.hub.clock.now().saturating_add(wait);
        let park = (!wait.is_zero()).then_some(Park { until, place: None, left });
        let request = Request { actor, idem: None, command: Command::Claim(claim) };
        self.push(request, reply, park, Duration::ZERO);
        seat
    }

    /// Asks a question of the store's read-only side; never waits for a lane. Where there are
    /// several shards it reaches all of them.
    pub fn question<T>(
        &self,
        question: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        self.hub.readers.ask(question)
    }

    /// As [`Handle::question`], of one shard alone: commits are numbered per shard.
    pub fn question_in<T>(
        &self,
        shard: u16,
        question: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        match self.hub.shard_readers.get(usize::from(shard)) {
            Some(readers) => readers.ask(question),
            None => self.hub.readers.ask(question),
        }
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> u16 {
        u16::try_from(self.hub.lanes.len()).unwrap_or(u16::MAX)
    }

    /// What the lanes have done.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let tallies: Vec<_> = self.hub.lanes.iter().map(|lane| lane.tally()).collect();
        let mut stats = Tally::sum(tallies.iter().map(|tally| &**tally));
        drop(tallies);
        if self.hub.floor.is_some() {
            stats.parked = self.hub.hall.len();
        }
        let loads: Vec<_> = self.hub.lanes.iter().map(|lane| lane.queue.loads()).collect();
        let waiting = |u: Urgency| loads.iter().map(|l| l[u.place()].commands).sum();
        stats.waiting = Urgency::ALL.into_iter().map(|u| (u, waiting(u))).collect();
        stats
    }

    /// Whether the engine takes commands, and if not, why.
    #[must_use]
    pub fn stage(&self) -> Stage {
        self.hub.stage()
    }

    fn push(&self, request: Request, reply: OnReply, park: Option<Park>, patience: Duration) {
        let answer = Answer::one(reply);
        if let Err(refusal) = check(&request.command) {
            return answer.give(Err(refusal.into()));
        }
        let urgency = Urgency::of(&request.command);
        let order = Order::new(request, answer, park);
        if let Some(floor) = &self.hub.floor {
            return floor.send(order, patience);
        }
        let Some(lane) = self.hub.lanes.first() else { return };
        if let Err((orders, error)) = lane.queue.push(urgency, Some(order), patience) {
            give_all(orders, &error);
        }
    }

    fn push_many(&self, requests: Vec<Request>, reply: OnReplies, patience: Duration) {
        if requests.is_empty() {
            return reply(Vec::new());
        }
        let urgencies = requests.iter().map(|r| Urgency::of(&r.command));
        let urgency = urgencies.max().unwrap_or(Urgency::Submission);
        let answers = Tray::with_answers(requests.len(), reply);
        let mut orders = Vec::with_capacity(requests.len().min(BULK_COMMANDS_MAX));
        for (request, answer) in requests.into_iter().zip(answers) {
            if let Err(refusal) = check(&request.command) {
                answer.give(Err(refusal.into()));
                continue;
            }
            orders.push(Order::new(request, answer, None));
            if orders.len() == BULK_COMMANDS_MAX {
                self.push_bulk(urgency, std::mem::take(&mut orders), patience);
            }
        }
        self.push_bulk(urgency, orders, patience);
    }

    fn push_bulk(&self, urgency: Urgency, orders: Vec<Order>, patience: Duration) {
        if orders.is_empty() {
            return;
        }
        if let Some(floor) = &self.hub.floor {
            return match patience.is_zero() {
                true => floor.hand_many(orders),
                false => floor.send_many(orders, patience),
            };
        }
        let Some(lane) = self.hub.lanes.first() else { return };
        if let Err((orders, error)) = lane.queue.push(urgency, orders, patience) {
            give_all(orders, &error);
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({:?})", self.stage())
    }
}

fn give_all(orders: impl IntoIterator<Item = Order>, error: &EngineError) {
    for order in orders {
        order.answer.give(Err(error.clone()));
    }
}

/// What the rules cannot check because they know no calendars; part of every call, and for those
/// who decide something without a lane.
pub fn check(command: &Command) -> Result<(), Refusal> {
    let Command::ApplyFlow { flow, .. } = command else {
        return Ok(());
    };
    let On::Schedule(when) = &flow.on else {
        return Ok(());
    };
    calendar::check(when).map_err(|error| {
        let (sentence, hint) = (error.to_string(), error.hint());
        Refusal::new(Code::BadFlow, sentence).hint(hint)
    })
}
