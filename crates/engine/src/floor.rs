//! Several lanes as one engine: where a command goes, and how a claim finds its shard.
//!
//! An engine on a database of several shards has a lane for each, and this between them. A command
//! goes to the shard of its collection. **A claim travels**: it is tried in one shard at a time,
//! the best head first ([`board`]), skipping shards that another engine is writing to, waiting for
//! one only when nothing else is left. What finds nothing anywhere, after a look at all shards that
//! began when it was already here, waits in the hall, once for all lanes.
//!
//! **No work is missed.** Every shard counts its rings: moments at which it may have more work than
//! before. A claim remembers the ring at which it was tried in each shard, and waits only when no
//! shard has rung since. Rings of other engines' commits come from looks at all shards ([`watch`]):
//! a few times a second while somebody waits, at once where the database tells of commits.
//!
//! Nothing here decides: whether there is work is found out under the shard's lock.

mod atlas;
mod board;
mod route;
mod usher;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::refusal::Refusal;
use armarius_core::reply::{Granted, Reply};
use armarius_core::view::View;

use crate::clock::Clock;
use crate::error::{EngineError, Outcome};
use crate::hall::{self, Hall};
use crate::handle::Shared;
use crate::order::{Order, Tour, Tray};
use crate::seam::{Atlas, StoreError, Thing};
use crate::urgency::Urgency;
use atlas::Places;
use board::Board;
pub(crate) use board::Mercy;
use route::Whereabouts;
use usher::Usher;
use watch::Watch;

pub(crate) use watch::{listen, run as watch_over};

/// What stands between the lanes.
pub(crate) struct Floor {
    lanes: Vec<Arc<Shared>>,
    hall: Arc<Hall>,
    board: Mutex<Board>,
    places: Places,
    usher: Usher,
    watch: Watch,
    clock: Arc<dyn Clock>,
}

/// What becomes of a claim that is looking for work.
enum Next {
    /// It is tried in this shard.
    Try(u16),
    /// It waits for a look at all shards.
    Look,
    /// It waits for work.
    Park,
}

impl Floor {
    pub(crate) fn new(
        lanes: Vec<Arc<Shared>>,
        hall: Arc<Hall>,
        atlas: Box<dyn Atlas>,
        clock: Arc<dyn Clock>,
        jobs_max: usize,
    ) -> Self {
        let shards = u16::try_from(lanes.len()).unwrap_or(u16::MAX);
        Self {
            board: Mutex::new(Board::new(lanes.len())),
            places: Places::new(shards, atlas),
            usher: Usher::new(jobs_max),
            watch: Watch::default(),
            lanes,
            hall,
            clock,
        }
    }

    /// Sends an order where it belongs. With patience it may wait for room and ask the database;
    /// without, somebody else asks.
    pub(crate) fn send(&self, order: Order, patience: Duration) {
        match Whereabouts::of(&order.request.command) {
            Whereabouts::Everywhere => self.send_everywhere(order, patience),
            Whereabouts::Work => self.start(order, !patience.is_zero()),
            at @ (Whereabouts::Collection(_)
            | Whereabouts::Thing(_)
            | Whereabouts::Either(_, _)
            | Whereabouts::Shard(_)) => match self.places.known(&at) {
                Some(shard) => {
                    let urgency = Urgency::of(&order.request.command);
                    self.push(shard, urgency, vec![order], patience);
                }
                None if patience.is_zero() => self.usher.hand(vec![order]),
                None => self.send_many(vec![order], patience),
            },
        }
    }

    /// Sends a bulk, split by shard; within a shard its order is kept. May ask the database.
    pub(crate) fn send_many(&self, orders: Vec<Order>, patience: Duration) {
        let urgencies = orders.iter().map(|o| Urgency::of(&o.request.command));
        let urgency = urgencies.max().unwrap_or(Urgency::Submission);
        let mut split: Vec<Vec<Order>> = self.lanes.iter().map(|_| Vec::new()).collect();
        for order in orders {
            let at = Whereabouts::of(&order.request.command);
            if at == Whereabouts::Everywhere {
                self.send_everywhere(order, patience);
                continue;
            }
            if at == Whereabouts::Work {
                self.start(order, true);
                continue;
            }
            match self.places.find(&at) {
                Ok(shard) => split[usize::from(shard)].push(order),
                Err(error) => order.answer.give(Err(told(error))),
            }
        }
        for (shard, orders) in (0..).zip(split) {
            self.push(shard, urgency, orders, patience);
        }
    }

    /// As [`Floor::send_many`], but never waits and never asks.
    pub(crate) fn hand_many(&self, orders: Vec<Order>) {
        let is_known =
            |order: &Order| self.places.known(&Whereabouts::of(&order.request.command)).is_some();
        if orders.iter().all(is_known) {
            self.send_many(orders, Duration::ZERO);
        } else {
            self.usher.hand(orders);
        }
    }

    fn push(&self, shard: u16, urgency: Urgency, orders: Vec<Order>, patience: Duration) {
        if orders.is_empty() {
            return;
        }
        let Some(lane) = self.lanes.get(usize::from(shard)) else { return };
        if let Err((orders, error)) = lane.queue.push(urgency, orders, patience) {
            for order in orders {
                turn_away(order, &error);
            }
        }
    }

    /// One order for every shard, answered when all have.
    fn send_everywhere(&self, order: Order, patience: Duration) {
        let Order { request, answer, .. } = order;
        let together = move |outcomes: Vec<Outcome>| answer.give(sum(outcomes));
        let answers = Tray::with_answers(self.lanes.len(), Box::new(together));
        let urgency = Urgency::of(&request.command);
        for (shard, answer) in (0..).zip(answers) {
            let order = Order::new(request.clone(), answer, None);
            self.push(shard, urgency, vec![order], patience);
        }
    }

    // Claims.

    /// A claim begins its tour.
    fn start(&self, mut order: Order, may_ask: bool) {
        let Command::Claim(claim) = &order.request.command else { return };
        if let Err(refusal) = armarius_core::decide::check_claim(claim) {
            return order.answer.give(Err(refusal.into()));
        }
        let mut shards = Vec::with_capacity(claim.collections.len());
        for name in &claim.collections {
            let at = Whereabouts::Collection(name);
            match self.places.known(&at) {
                Some(shard) => shards.push(shard),
                None if !may_ask => return self.usher.hand(vec![order]),
                None => match self.places.find(&at) {
                    Ok(shard) => shards.push(shard),
                    Err(error) => return order.answer.give(Err(told(error))),
                },
            }
        }
        let allowed = (!claim.collections.is_empty()).then_some(shards);
        order.tour = Some(Box::new(self.board().tour(allowed)));
        self.seek(order);
    }

    /// A claim goes on to the next shard, or waits.
    fn seek(&self, mut order: Order) {
        // Between the look at the board and the seat in the hall nobody rings unheard.
        let mut seats = self.hall.enter();
        let next = self.decide(&mut order);
        let sent_home = match next {
            Next::Park => match order.tour.as_mut().and_then(|tour| tour.busy.take()) {
                Some(busy) => {
                    drop(seats);
                    return order.answer.give(Err(busy.into()));
                }
                None => seats.park(order, self.clock.now()),
            },
            Next::Try(shard) => {
                drop(seats);
                return self.push(shard, Urgency::Claim, vec![order], Duration::ZERO);
            }
            Next::Look => {
                drop(seats);
                return self.watch.ask(order);
            }
        };
        drop(seats);
        hall::answer(sent_home);
    }

    fn decide(&self, order: &mut Order) -> Next {
        let board = self.board();
        let (Command::Claim(claim), Some(tour)) = (&order.request.command, &mut order.tour) else {
            return Next::Park;
        };
        if let Some(shard) = board.next(claim, tour) {
            board.sent(tour, shard);
            return Next::Try(shard);
        }
        if !tour.skipped.is_empty() {
            // Nothing else is left: now it waits for those that are in use.
            tour.skipped.clear();
            tour.patient = true;
            if let Some(shard) = board.next(claim, tour) {
                board.sent(tour, shard);
                return Next::Try(shard);
            }
        }
        if !board.is_fresh(tour) {
            return Next::Look;
        }
        tour.patient = false;
        Next::Park
    }

    /// A claim found nothing in a shard, or only a robot that is busy, and goes on.
    pub(crate) fn found_nothing(&self, mut order: Order, busy: Option<Refusal>) {
        if let (Some(tour), Some(busy)) = (&mut order.tour, busy) {
            tour.busy = Some(busy);
        }
        self.seek(order);
    }

    /// Another engine writes to this shard: the claim goes on and may come back.
    pub(crate) fn pass_on(&self, shard: u16, mut order: Order) {
        if let Some(tour) = &mut order.tour {
            tour.skip(shard);
        }
        self.seek(order);
    }

    /// A claim that waited in the hall is tried in a shard.
    pub(crate) fn called(&self, shard: u16, tour: &mut Tour) {
        self.board().sent(tour, shard);
    }

    /// A lease was granted: its reports come here, and its collections had their turn.
    pub(crate) fn granted(&self, shard: u16, granted: &Granted) {
        self.places.note(Thing::Lease(granted.lease), shard);
        let mut board = self.board();
        let mut last = None;
        for task in &granted.tasks {
            if last != Some(&task.collection) {
                board.served(&task.collection);
                last = Some(&task.collection);
            }
        }
    }

    // What lanes tell.

    /// A lane has committed, and perhaps there is more work now.
    pub(crate) fn committed(&self, shard: u16, view: &View) {
        let opened = view.flows.changes().next().is_some()
            || view.holds.changes().any(|(_, hold)| hold.is_none());
        let mut board = self.board();
        if board.note(shard, view) || opened {
            board.ring(shard);
        }
    }

    /// A lane has found commits of somebody else.
    pub(crate) fn overtaken(&self, shard: u16) {
        self.board().ring(shard);
    }

    /// A lane's turn is over.
    pub(crate) fn tell(&self, shard: u16, view: &View) {
        self.board().tell(shard, view, self.clock.now());
    }

    /// Whether others have committed since a lane looked, so that its own idea of what is due may
    /// be wrong; the watch knows better.
    pub(crate) fn has_moved(&self, shard: u16, n: i64) -> bool {
        self.board().has_moved(shard, n)
    }

    /// How leases of a shard are to be judged.
    pub(crate) fn mercy(&self, shard: u16) -> Mercy {
        self.board().mercy(shard)
    }

    /// Live leases of a shard have their fresh term.
    pub(crate) fn refreshed(&self, shard: u16) {
        self.board().refreshed(shard);
    }

    /// Does what callers do not wait for, until the engine stops.
    pub(crate) fn usher(&self) {
        while let Some(orders) = self.usher.next() {
            // A full line is the caller's to wait for: nobody waits here.
            self.send_many(orders, Duration::ZERO);
        }
    }

    /// Something was moved by hand, or heard: look at the clock again.
    pub(crate) fn nudge(&self) {
        self.watch.nudge();
    }

    /// Takes nothing new: the lanes answer what waits, and end.
    pub(crate) fn close(&self) {
        self.usher.close();
        hall::answer(self.watch.close());
        for lane in &self.lanes {
            lane.queue.close();
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a claim or a bulk has no place to go.
fn turn_away(order: Order, error: &EngineError) {
    let outcome = match error {
        // Who waits for work when the engine stops gets none.
        EngineError::Stopped if order.park.is_some() => Ok(Reply::Claimed(None)),
        other => Err(other.clone()),
    };
    order.answer.give(outcome);
}

/// The answers of all shards as one.
fn sum(outcomes: Vec<Outcome>) -> Outcome {
    let mut total = Reply::Ok;
    for outcome in outcomes {
        total = match (total, outcome?) {
            (Reply::Duty { did, more }, Reply::Duty { did: d, more: m }) => {
                Reply::Duty { did: did + d, more: more || m }
            }
            (_, reply) => reply,
        };
    }
    Ok(total)
}

/// What a caller is told when the database does not say where something is.
fn told(error: StoreError) -> EngineError {
    match error {
        StoreError::Full(why) => EngineError::Full(why),
        StoreError::Unavailable(why) | StoreError::Unknown(why) => EngineError::Unavailable(why),
        StoreError::Unusable(_) | StoreError::Corrupt(_) | StoreError::Disk(_) => {
            EngineError::Internal(error.to_string())
        }
    }
}
