//! What the lane does by itself. Each duty is a file: when it is due, how much it does at a time,
//! and its one command. Doing one twice is harmless.
//!
//! The lane wakes exactly when the next lease or timer is due, and looks around at least once per
//! [`TICK`]. A duty that changes nothing although it was due rests for a tick, so that it can never
//! keep the lane spinning.

mod expire_holds;
mod expire_leases;
mod fire_schedules;
mod refresh_leases;
mod run_errands;
mod wake_timers;

use std::time::Duration;

use armarius_core::command::Command;
use armarius_core::ids::{ErrandId, Time};
use armarius_core::view::{Need, Stop, View};

use crate::options::TICK;

/// Entries fetched beyond the first one of a list that is only looked at, so that the next looks
/// need no store.
const PEEK_ROWS: usize = 256;

/// A duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// After a start, live leases get a fresh term.
    Refresh,
    /// Leases whose time is over end.
    Expire,
    /// Tasks whose time has come enter their queues.
    Wake,
    /// Holds whose time is over end.
    ExpireHolds,
    /// Schedules fire.
    Fire,
}

/// How many duties there are.
const DUTIES: usize = 5;

/// What the lane knows about its duties.
pub(crate) struct Duties {
    refresh: refresh_leases::Refresh,
    holds: expire_holds::Holds,
    schedules: fire_schedules::Schedules,
    errands: run_errands::Errands,
    /// Until when a duty that changed nothing rests.
    rests: [Duration; DUTIES],
}

/// The moment of one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The transaction's time.
    pub(crate) now: Time,
    /// The lane's clock.
    pub(crate) clock: Duration,
    /// New work is not taken.
    pub(crate) short: bool,
    /// Leases may be judged by their time.
    pub(crate) judges: bool,
}

impl Duties {
    /// Duties after a start. `is_shared`: others were there meanwhile, and leases could be renewed.
    pub(crate) fn new(is_shared: bool) -> Self {
        Self {
            refresh: refresh_leases::Refresh::after_start(is_shared),
            holds: expire_holds::Holds::default(),
            schedules: fire_schedules::Schedules::default(),
            errands: run_errands::Errands::default(),
            rests: [Duration::ZERO; DUTIES],
        }
    }

    /// Whether leases must get their fresh term before anything else is decided.
    pub(crate) fn refresh_is_due(&self, clock: Duration) -> bool {
        self.refresh.is_due() && self.rests[Duty::Refresh as usize] <= clock
    }

    /// Whether every lease that was alive at the start has its fresh term, durably.
    pub(crate) fn refresh_is_done(&self) -> bool {
        self.refresh.is_done()
    }

    /// The store was out of reach, and leases must get a fresh term once more.
    pub(crate) fn refresh_again(&mut self) {
        self.refresh.again();
    }

    /// Whether leases have got their fresh term, as far as was decided.
    pub(crate) fn is_refreshed(&self) -> bool {
        !self.refresh.is_due()
    }

    /// Commands that are due, each duty at most once.
    pub(crate) fn due(&mut self, view: &View, at: Moment) -> Result<Vec<(Duty, Command)>, Stop> {
        let mut due = Vec::new();
        // All lists are looked at in every turn, also for a duty that rests: the lane wants to know
        // afterwards when to wake.
        let leases = expire_leases::is_due(view, at.now)?;
        let timers = wake_timers::is_due(view, at.now)?;
        let rests = self.rests;
        let awake = |duty: Duty| rests[duty as usize] <= at.clock;
        // Before every live lease has its fresh term, none is judged.
        if awake(Duty::Expire) && !self.refresh.is_due() && at.judges && leases {
            due.push((Duty::Expire, Command::Expire));
        }
        if awake(Duty::Wake) && timers {
            due.push((Duty::Wake, Command::Wake));
        }
        if awake(Duty::ExpireHolds) && self.holds.is_due(view, at) {
            due.push((Duty::ExpireHolds, Command::ExpireHolds));
        }
        if awake(Duty::Fire) && !at.short {
            let fires = self.schedules.due(view, at);
            due.extend(fires.into_iter().map(|command| (Duty::Fire, command)));
        }
        Ok(due)
    }

    /// Notes what a duty did: nothing, or something, and whether more is waiting.
    pub(crate) fn did(&mut self, duty: Duty, changed: bool, more: bool, clock: Duration) {
        if duty == Duty::Refresh {
            self.refresh.did(more && changed);
        } else if !changed {
            self.rests[duty as usize] = clock + TICK;
        }
    }

    /// What was decided is durable.
    pub(crate) fn committed(&mut self) {
        self.refresh.committed();
    }

    /// What was decided is not there. Everything rests for a tick: if it was a duty that broke the
    /// group, the next groups go well without it.
    pub(crate) fn taken_back(&mut self, clock: Duration) {
        self.refresh.taken_back();
        self.errands.taken_back(clock);
        self.rests = [clock + TICK; DUTIES];
    }

    /// A duty's command was refused.
    pub(crate) fn failed(&mut self, duty: Duty, clock: Duration) {
        self.rests[duty as usize] = clock + TICK;
    }

    /// The oldest errand that is not resting.
    pub(crate) fn errand(
        &mut self,
        view: &View,
        clock: Duration,
    ) -> Result<Option<ErrandId>, Stop> {
        self.errands.next(view, clock)
    }

    /// An errand got nowhere: the others go on without it for a tick.
    pub(crate) fn errand_stuck(&mut self, errand: ErrandId, clock: Duration) {
        self.errands.stuck(errand, clock);
    }

    /// When the lane must look again, counted from `at` and after `rest` at the latest; `Need` when
    /// the view does not know.
    pub(crate) fn next(
        &mut self,
        view: &View,
        at: Moment,
        rest: Duration,
    ) -> Result<Duration, Stop> {
        if self.errands.next(view, at.clock)?.is_some() {
            return Ok(at.clock);
        }
        let lane_time = |t: Time| {
            let micros = u64::try_from(t.0.saturating_sub(at.now.0)).unwrap_or(0);
            at.clock.saturating_add(Duration::from_micros(micros))
        };
        let moments = [
            (Duty::Refresh, self.refresh.is_due().then_some(Time::ZERO)),
            (Duty::Expire, expire_leases::next(view)?),
            (Duty::Wake, wake_timers::next(view)?),
            (Duty::ExpireHolds, self.holds.next()),
            (Duty::Fire, self.schedules.next().filter(|_| !at.short)),
        ];
        let wakes = moments
            .into_iter()
            .filter_map(|(duty, moment)| Some(lane_time(moment?).max(self.rests[duty as usize])));
        Ok(wakes.fold(at.clock + rest, Duration::min))
    }
}

/// Asks for more than one entry where a duty only looks at the first.
pub(crate) fn widen(needs: &mut [Need]) {
    for need in needs {
        match need {
            Need::Timer(_, _, n) | Need::DueLease(_, _, n) | Need::Errands(_, _, n) => {
                *n += PEEK_ROWS;
            }
            other => debug_assert!(false, "no duty looks at {other:?}"),
        }
    }
}
