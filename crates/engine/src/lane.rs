//! The lane: one thread that owns a store and its view, and commits commands in groups.
//!
//! A turn takes what is waiting, decides it on the view, commits once, and then answers. While a
//! commit is being made durable the next group forms by itself. Whoever is alone waits for nobody:
//! a single command on an idle lane is committed at once.
//!
//! **Who goes first.** A group serves its lines in the order of [`Urgency`]: reports and renewals,
//! duties and errands, claims, actions, submissions. **Nobody starves**: a line may fill the group
//! only up to its mark ([`group::mark`]), every line that waits gets at least one command into
//! every group, and only what room is left then is given out again in the same order.
//!
//! **Two at a time.** When much is waiting, a group takes half of it and is made durable on a
//! thread of its own, while the lane decides the next one ([`flight`]).
//!
//! **What can go wrong.** A refusal disturbs nobody: the rules take back what they wrote. When a
//! store cannot load or commit, or the rules break, the view is thrown away and the group's
//! commands are run one by one ([`alone`]), so that only the one that cannot be is told so. When
//! the disk or the data cannot be trusted the lane stops for good.
//!
//! [`Urgency`]: crate::urgency::Urgency

mod alone;
mod flight;
mod foresight;
mod group;
mod settle;
mod turn;
mod verdict;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use armarius_core::ids::Time;
use armarius_core::view::View;

use self::flight::Runway;
use self::foresight::Foresight;
use crate::bell::Bell;
use crate::chance::Chance;
use crate::clock::Clock;
use crate::duties::Duties;
use crate::exit::Fatal;
use crate::floor::{Floor, Mercy};
use crate::hall::Hall;
use crate::handle::Shared;
use crate::options::{COMPANY_MIN, COMPANY_WAIT, Decide, OnWord, Options, REST_MAX};
use crate::order::Order;
use crate::queue::{LINES, Load, Stage};
use crate::seam::Store;
use crate::stats::Tally;

/// The lane's own things; nobody else touches them.
struct Lane<'a> {
    place: Place,
    /// `None` when every commit is made on the lane's own thread.
    runway: Option<Runway>,
    fly_commands_min: usize,
    view: View,
    shard: u16,
    decide: Decide,
    chance: Box<dyn Chance>,
    clock: Arc<dyn Clock>,
    shared: &'a Shared,
    /// What was taken out of the shared lines and is not yet decided.
    lines: [VecDeque<Order>; LINES],
    /// What was decided since the shared lines were last told.
    decided: [Load; LINES],
    bell: Bell,
    /// `None` when somebody else does the duties.
    duties: Option<Duties>,
    group_rows_max: usize,
    cache_rows_max: usize,
    /// Rows loaded or written since the cache was last measured.
    touched: usize,
    /// So many may be touched before the cache can be full.
    spare: usize,
    /// How many the last group has answered.
    answered: usize,
    /// Whether the store was short of space at the last turn.
    short: bool,
    /// The latest transaction's time, and the lane's clock then.
    began: (Time, Duration),
    /// What stands between the lanes, where there are several.
    floor: Option<Arc<Floor>>,
    /// Whether it is worth while to ask for what several commands need together.
    is_far: bool,
    foresight: Foresight,
    /// How leases are to be judged in this turn.
    mercy: Mercy,
    /// Leases are getting a fresh term, and the others wait to hear of it.
    refreshing: bool,
    /// The newest commit when the lane last asked how long it may rest.
    rested_at: i64,
    on_word: OnWord,
}

/// What a lane finds around it.
pub(crate) struct Around {
    /// Where claims wait.
    pub(crate) hall: Arc<Hall>,
    /// What stands between the lanes, where there are several.
    pub(crate) floor: Option<Arc<Floor>>,
}

/// Where the store is.
enum Place {
    /// Here; with a transaction or without.
    Home { store: Box<dyn Store>, begun: bool },
    /// Under way with so many commands.
    Away { commands: usize },
}

/// Runs a lane until it is told to stop or cannot go on, and says how it ended.
pub(crate) fn run(store: Box<dyn Store>, mut options: Options, shared: &Shared, around: Around) {
    let on_fatal = options.on_fatal.take();
    let floor = around.floor.clone();
    let end = thread::scope(|scope| {
        let runway = Runway::open(&*store, shared, scope);
        let mut lane = Lane::new(store, runway, options, shared, around);
        let end = catch_unwind(AssertUnwindSafe(|| lane.go()))
            .unwrap_or_else(|panic| Err(Fatal::software(verdict::panic_text(&*panic))));
        let stage = match &end {
            Ok(()) => Stage::Stopped,
            Err(fatal) => Stage::Failed(fatal.clone()),
        };
        // First the word, then the answers: who is told `stopped` can ask why.
        shared.queue.end(stage);
        drop(lane);
        end
    });
    if let (Err(_), Some(floor)) = (&end, floor) {
        // A process that must end for one shard ends for all.
        floor.close();
    }
    if let (Err(fatal), Some(tell)) = (end, on_fatal) {
        tell(&fatal);
    }
}

impl<'a> Lane<'a> {
    fn new(
        store: Box<dyn Store>,
        runway: Option<Runway>,
        options: Options,
        shared: &'a Shared,
        around: Around,
    ) -> Self {
        let Around { hall, floor } = around;
        let (is_shared, is_far) = (store.is_shared(), store.is_far());
        Self {
            place: Place::Home { store, begun: false },
            runway,
            fly_commands_min: options.fly_commands_min.max(1),
            view: View::new(options.shard),
            shard: options.shard,
            decide: options.decide,
            chance: options.chance,
            clock: options.clock,
            shared,
            lines: Default::default(),
            decided: Default::default(),
            bell: Bell::new(hall),
            duties: options.with_duties.then(|| Duties::new(is_shared)),
            group_rows_max: options.group_rows_max.max(1),
            cache_rows_max: options.cache_rows_max,
            touched: 0,
            spare: 0,
            answered: 0,
            short: false,
            began: (Time::ZERO, Duration::ZERO),
            floor,
            is_far,
            foresight: Foresight::default(),
            mercy: Mercy::None,
            refreshing: false,
            rested_at: 0,
            on_word: options.on_word,
        }
    }

    fn go(&mut self) -> Result<(), Fatal> {
        // Where a watch looks at all shards, it says when there is something to begin with.
        let rest = if self.floor.is_some() { REST_MAX } else { Duration::ZERO };
        let mut wake = self.clock.now() + rest;
        loop {
            let decided = std::mem::take(&mut self.decided);
            let queue = &self.shared.queue;
            let mut roused = queue.take(&mut self.lines, decided, wake, &*self.clock);
            roused |= self.await_company();
            if self.floor.is_none() && self.bell.hall().expire(self.clock.now()) {
                self.tally().stats.parked = self.bell.hall().len();
            }
            if self.lines.iter().all(VecDeque::is_empty) {
                match self.shared.queue.stage() {
                    Stage::Running => {}
                    // Errands that are left go on after the next start.
                    Stage::Stopping | Stage::Stopped | Stage::Failed(_) if self.is_home() => break,
                    Stage::Stopping | Stage::Stopped | Stage::Failed(_) => {}
                }
                if !roused && self.is_outdated() {
                    wake = self.clock.now() + REST_MAX;
                    continue;
                }
            }
            wake = self.turn()?;
        }
        self.bell.hall().send_home();
        Ok(())
    }

    /// Those whom the last group answered are probably about to ask again: a commit for all of them
    /// costs little more than one for half of them. Whoever is alone never waits.
    fn await_company(&mut self) -> bool {
        let mut roused = false;
        let wanted = std::mem::take(&mut self.answered);
        if self.is_far || !(COMPANY_MIN..self.fly_commands_min).contains(&wanted) {
            return roused;
        }
        let until = Instant::now() + COMPANY_WAIT;
        while self.lines.iter().map(VecDeque::len).sum::<usize>() < wanted && Instant::now() < until
        {
            thread::yield_now();
            let at_once = self.clock.now();
            let nothing = Default::default();
            roused |= self.shared.queue.take(&mut self.lines, nothing, at_once, &*self.clock);
        }
        roused
    }

    /// Whether others have committed since: then the watch knows better what is due.
    fn is_outdated(&self) -> bool {
        self.floor.as_ref().is_some_and(|f| f.has_moved(self.shard, self.view.head.n))
    }

    fn tally(&self) -> MutexGuard<'a, Tally> {
        self.shared.tally()
    }
}
