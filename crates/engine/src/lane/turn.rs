//! One turn of the lane: form a group, settle it, say when to wake.

use std::collections::VecDeque;
use std::time::Duration;

use armarius_core::command::{Call, Command};
use armarius_core::ids::{Span, Time};
use armarius_core::reply::Reply;
use armarius_core::rows::Counter;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Stop, View};

use super::foresight::Foresight;
use super::group::{Entry, FULL, Group, mark};
use super::verdict::Trouble;
use super::{Lane, Place};
use crate::duties::{Duty, Moment};
use crate::error::{EngineError, no_room};
use crate::exit::Fatal;
use crate::floor::Mercy;
use crate::options::{REST_MAX, TICK};
use crate::order::Order;
use crate::queue::Stage;
use crate::urgency::{Urgency, needs_room};

/// Who does the duties, in events.
const DUTY_ACTOR: &str = "armarius";

impl Lane<'_> {
    /// Does what is waiting, and says when to wake even if nothing comes.
    pub(super) fn turn(&mut self) -> Result<Duration, Fatal> {
        if self.shared.queue.has_landed()
            && let Some((trouble, entries)) = self.land()?
        {
            let went_well = self.run_alone(entries, &trouble)?;
            return Ok(if went_well { self.clock.now() } else { self.rest() });
        }
        let begun = if self.may_pass_on() { self.try_begin() } else { self.begin().map(Some) };
        let mut group = match begun {
            Ok(Some(now)) => self.new_group(now),
            Ok(None) => return Ok(self.pass_on()),
            Err(trouble) => return self.turn_away(&trouble),
        };
        let went_well = match self.form(&mut group) {
            Ok(()) => self.settle(group)?,
            Err(trouble) => self.break_up(group, trouble)?,
        };
        Ok(match (went_well, self.is_home()) {
            (true, true) => self.next_wake(),
            // It waits for the landing in its next turn.
            (true, false) => self.clock.now(),
            (false, _) => self.rest(),
        })
    }

    /// A group of all that is waiting; or of half of it, if it is worth while to have one half
    /// decided while the other is being written.
    fn new_group(&self, now: Time) -> Group {
        let mut group = Group::new(now, self.short, self.clock.now(), self.group_rows_max);
        let under_way = match &self.place {
            Place::Home { .. } => 0,
            Place::Away { commands } => *commands,
        };
        let commands = under_way + self.lines.iter().map(VecDeque::len).sum::<usize>();
        if self.runway.is_some() && commands >= self.fly_commands_min {
            group.fly(commands.div_ceil(2));
        }
        group
    }

    /// A group that could not be formed. What is under way is waited for first.
    fn break_up(&mut self, group: Group, trouble: Trouble) -> Result<bool, Fatal> {
        let (trouble, mut entries) = self.land()?.unwrap_or((trouble, Vec::new()));
        entries.extend(group.entries);
        self.run_alone(entries, &trouble)
    }

    pub(super) fn is_home(&self) -> bool {
        match &self.place {
            Place::Home { .. } => true,
            Place::Away { .. } => false,
        }
    }

    /// When to wake after a turn that went wrong: what failed by itself is not tried at once.
    fn rest(&self) -> Duration {
        let left = self.lines.iter().any(|l| !VecDeque::is_empty(l));
        let wait = match &self.floor {
            _ if left => Duration::ZERO,
            // The watch sees what is still due once the store is back.
            Some(_) => REST_MAX,
            None => TICK,
        };
        self.clock.now() + wait
    }

    /// Begins a transaction. Its time never lies behind the highest that was committed; and while
    /// the store's clock stands behind it, because it was set back, time goes on as the lane's
    /// clock does: otherwise leases would live until the store's clock has caught up.
    pub(super) fn begin(&mut self) -> Result<Time, Trouble> {
        let before = self.view.head;
        let (shown, short) = match &mut self.place {
            Place::Home { store, begun } => {
                *begun = false;
                let shown = store.begin(&mut self.view)?;
                *begun = true;
                (shown, store.is_short_of_space())
            }
            // Its clock cannot be read now, and what room it has is not known anew.
            Place::Away { .. } => (Time::ZERO, self.short),
        };
        Ok(self.begun(shown, short, before))
    }

    /// As [`Lane::begin`], but `None` when another engine is writing to this shard.
    fn try_begin(&mut self) -> Result<Option<Time>, Trouble> {
        let before = self.view.head;
        let Place::Home { store, begun } = &mut self.place else {
            return self.begin().map(Some);
        };
        *begun = false;
        let Some(shown) = store.try_begin(&mut self.view)? else { return Ok(None) };
        *begun = true;
        let short = store.is_short_of_space();
        Ok(Some(self.begun(shown, short, before)))
    }

    fn begun(&mut self, shown: Time, short: bool, before: CommitHead) -> Time {
        if self.view.head != before {
            self.overtaken();
        }
        self.have_mercy();
        let now = self.reckon(shown.max(Time(self.high_water())));
        if self.short && !short {
            self.bell.ring_everyone();
        }
        self.short = short;
        now
    }

    /// Others have committed, and nobody here has heard what.
    fn overtaken(&mut self) {
        if let Some(floor) = &self.floor {
            floor.overtaken(self.shard);
            self.bell.ring_open(&self.view);
        }
    }

    /// After the store was out of reach leases are judged with care.
    fn have_mercy(&mut self) {
        let Some(floor) = &self.floor else { return };
        self.mercy = floor.mercy(self.shard);
        if let (Mercy::Refresh, Some(duties)) = (self.mercy, &mut self.duties) {
            duties.refresh_again();
            self.refreshing = true;
        }
    }

    /// Whether there is nothing but claims that can be tried elsewhere.
    fn may_pass_on(&self) -> bool {
        let claims = &self.lines[Urgency::Claim.place()];
        let only = self.lines.iter().map(VecDeque::len).sum::<usize>() == claims.len();
        let restless = |o: &Order| o.tour.as_ref().is_some_and(|tour| !tour.patient);
        only && !claims.is_empty() && claims.iter().all(restless)
    }

    /// Another engine is writing to this shard: its claims are tried elsewhere first.
    fn pass_on(&mut self) -> Duration {
        while let Some(order) = self.pop(Urgency::Claim) {
            if let Some(floor) = &self.floor {
                floor.pass_on(self.shard, order);
            }
        }
        self.clock.now() + TICK
    }

    /// What was acknowledged may be missing: no token granted from now on equals one that a worker
    /// may remember.
    pub(super) fn clear_doubt(&mut self, now: Time) -> Result<(), Trouble> {
        let Place::Home { store, .. } = &self.place else { return Ok(()) };
        let Some(doubt) = store.doubt() else { return Ok(()) };
        (self.on_word)(&format!("shard {}: {doubt}; the epoch of tokens is raised", self.shard));
        match self.rule(&duty_call(Command::RaiseEpoch, now))? {
            Ok(_) => Ok(()),
            Err(refusal) => Err(Trouble::Broken(refusal.to_string())),
        }
    }

    fn reckon(&mut self, shown: Time) -> Time {
        let clock = self.clock.now();
        let (last, last_clock) = self.began;
        let passed = clock.saturating_sub(last_clock).as_micros();
        let reckoned = last.plus(Span(i64::try_from(passed).unwrap_or(i64::MAX)));
        let now = if shown > last { shown } else { reckoned };
        self.began = (now, clock);
        now
    }

    pub(super) fn high_water(&self) -> i64 {
        self.view.counters.get(&Counter::Clock).ok().flatten().copied().unwrap_or(0)
    }

    /// The store cannot begin: everyone in line is told so, and the lane rests for a tick.
    fn turn_away(&mut self, trouble: &Trouble) -> Result<Duration, Fatal> {
        self.give_up();
        if let Some(fatal) = trouble.fatal() {
            return Err(self.fail(fatal));
        }
        let error = trouble.for_caller();
        let mut count = 0;
        for urgency in Urgency::ALL {
            while let Some(order) = self.pop(urgency) {
                count += 1;
                order.answer.give(Err(error.clone()));
            }
        }
        self.tally().stats.failed += count;
        Ok(self.rest())
    }

    /// Ends a transaction whose view is not to be trusted any more.
    pub(super) fn give_up(&mut self) {
        self.abandon();
        self.view = View::new(self.shard);
        self.touched = 0;
        self.spare = 0;
        self.bell.ring_everyone();
        if let Some(duties) = &mut self.duties {
            duties.taken_back(self.clock.now());
        }
    }

    /// Decides what is waiting. While a commit is under way the group stays open for what arrives,
    /// as long as it has room.
    fn form(&mut self, group: &mut Group) -> Result<(), Trouble> {
        self.clear_doubt(group.now)?;
        let clock = self.clock.now();
        if self.duties.as_ref().is_some_and(|d| d.refresh_is_due(clock)) {
            self.do_duty(Duty::Refresh, Command::Refresh, group)?;
        }
        self.fill(group)?;
        while !self.is_home() && group.has_room(self.view.dirty_len(), self.clock.now()) {
            let decided = std::mem::take(&mut self.decided);
            self.shared.queue.take(&mut self.lines, decided, group.ends(), &*self.clock);
            let landed = self.shared.queue.has_landed();
            // A group with nobody in it is begun anew, on the store itself.
            let empty = landed && group.entries.is_empty();
            if empty || self.lines.iter().all(VecDeque::is_empty) {
                break;
            }
            self.fill(group)?;
            if landed {
                break;
            }
        }
        Ok(())
    }

    /// Decides as much as the group may hold: each line up to its mark, then what room is left.
    fn fill(&mut self, group: &mut Group) -> Result<(), Trouble> {
        for with_marks in [true, false] {
            for urgency in Urgency::ALL {
                let mark = if with_marks { mark(urgency) } else { FULL };
                match urgency {
                    Urgency::Report | Urgency::Action | Urgency::Submission => {}
                    Urgency::Errand if with_marks => {
                        self.do_duties(group)?;
                        self.run_errands(group, mark)?;
                    }
                    Urgency::Errand => self.run_errands(group, mark)?,
                    Urgency::Claim => self.try_parked(group, mark)?,
                }
                self.serve_line(urgency, group, mark)?;
            }
        }
        Ok(())
    }

    fn serve_line(
        &mut self,
        urgency: Urgency,
        group: &mut Group,
        mark: usize,
    ) -> Result<(), Trouble> {
        self.foresight = if self.is_far { Foresight::of(urgency) } else { Foresight::default() };
        while self.admits(group, urgency, mark) {
            let Some(order) = self.pop(urgency) else { break };
            group.serve(urgency, order.bytes);
            self.serve(order, group)?;
        }
        self.foresight = Foresight::default();
        Ok(())
    }

    fn admits(&self, group: &Group, urgency: Urgency, mark: usize) -> bool {
        group.admits(urgency, mark, self.view.dirty_len(), self.clock.now())
    }

    fn pop(&mut self, urgency: Urgency) -> Option<Order> {
        let order = self.lines[urgency.place()].pop_front()?;
        let decided = &mut self.decided[urgency.place()];
        decided.commands += 1;
        decided.bytes += order.bytes;
        Some(order)
    }

    /// Decides one command. It stays in the group whatever happens.
    fn serve(&mut self, order: Order, group: &mut Group) -> Result<(), Trouble> {
        let Order { request, answer, park, mut tour, bytes } = order;
        if let (Some(floor), Some(tour)) = (&self.floor, &mut tour) {
            floor.called(self.shard, tour);
        }
        let chance = self.chance.draw();
        let call = Call {
            now: group.now,
            actor: request.actor,
            chance: *chance.as_ref().unwrap_or(&0),
            idem: request.idem,
            command: request.command,
        };
        let outcome = Err(EngineError::Stopped);
        group.entries.push(Entry { call, answer, park, tour, bytes, outcome });
        let Some(entry) = group.entries.last_mut() else {
            return Ok(());
        };
        let before = self.written();
        entry.outcome = match chance {
            Err(dry) => Err(EngineError::Internal(dry.to_string())),
            Ok(_) if group.short && needs_room(&entry.call.command) => Err(no_room()),
            Ok(_) => self.rule(&entry.call)?.map_err(EngineError::from),
        };
        let nothing = matches!(entry.outcome, Ok(Reply::Claimed(None)));
        if nothing && entry.park.is_some() && self.written() != before {
            // It only cleared the way, for instance of tasks that met a hold.
            self.bell.ring_everyone();
        }
        Ok(())
    }

    /// Tries waiting claims again, as far as something rang for them.
    fn try_parked(&mut self, group: &mut Group, mark: usize) -> Result<(), Trouble> {
        while !group.short && self.admits(group, Urgency::Claim, mark) {
            let Some((ring, order)) = self.bell.next(&self.view) else {
                break;
            };
            group.serve(Urgency::Claim, order.bytes);
            self.serve(order, group)?;
            let granted = group.entries.last().map(|e| &e.outcome);
            if !matches!(granted, Some(Ok(Reply::Claimed(Some(_))))) {
                self.bell.found_nothing(ring);
            }
        }
        Ok(())
    }

    fn do_duties(&mut self, group: &mut Group) -> Result<(), Trouble> {
        if self.duties.is_none() {
            return Ok(());
        }
        let judges = self.mercy != Mercy::Wait;
        let at = Moment { now: group.now, clock: self.clock.now(), short: group.short, judges };
        let due = self.look(|lane| match &mut lane.duties {
            Some(duties) => duties.due(&lane.view, at),
            None => Ok(Vec::new()),
        })?;
        for (duty, command) in due {
            self.do_duty(duty, command, group)?;
        }
        Ok(())
    }

    fn do_duty(&mut self, duty: Duty, command: Command, group: &Group) -> Result<(), Trouble> {
        let before = self.written();
        let verdict = self.rule(&duty_call(command, group.now))?;
        let changed = self.written() != before;
        let clock = self.clock.now();
        let Some(duties) = &mut self.duties else {
            return Ok(());
        };
        let stalled = match verdict {
            Ok(Reply::Duty { more, .. }) => {
                duties.did(duty, changed, more, clock);
                !changed && duty != Duty::Refresh
            }
            Ok(_) => {
                duties.did(duty, changed, false, clock);
                !changed && duty != Duty::Refresh
            }
            Err(_) => {
                duties.failed(duty, clock);
                true
            }
        };
        let mut tally = self.tally();
        tally.stats.duties += 1;
        tally.stats.stalls += u64::from(stalled);
        Ok(())
    }

    fn run_errands(&mut self, group: &mut Group, mark: usize) -> Result<(), Trouble> {
        while self.duties.is_some() && self.admits(group, Urgency::Errand, mark) {
            let clock = self.clock.now();
            let next = self.look(|lane| match &mut lane.duties {
                Some(duties) => duties.errand(&lane.view, clock),
                None => Ok(None),
            })?;
            let Some(errand) = next else { break };
            group.serve(Urgency::Errand, 0);
            let before = (self.written(), self.view.errands.seen(&(), &errand).cloned());
            let verdict = self.rule(&duty_call(Command::RunErrand { errand }, group.now))?;
            let after = (self.written(), self.view.errands.seen(&(), &errand).cloned());
            let stuck = verdict.is_err() || before == after;
            if let (true, Some(duties)) = (stuck, &mut self.duties) {
                duties.errand_stuck(errand, clock);
            }
            let mut tally = self.tally();
            tally.stats.duties += 1;
            tally.stats.stalls += u64::from(stuck);
        }
        Ok(())
    }

    /// A measure that moves when something is written.
    fn written(&self) -> (usize, usize) {
        (self.view.dirty_len(), self.view.events.len())
    }

    /// When to wake if nothing comes: at once if something is left to do.
    fn next_wake(&mut self) -> Duration {
        let clock = self.clock.now();
        let stopping = self.shared.queue.stage() != Stage::Running;
        let left = self.lines.iter().any(|l| !VecDeque::is_empty(l));
        if stopping || left || (self.bell.is_rung() && !self.short) {
            return clock;
        }
        // Spoken in terms of the latest transaction, whose time the duties are measured by.
        let (now, began) = self.began;
        let at = Moment { now, clock: began, short: self.short, judges: true };
        let rest = self.longest_rest();
        let duty = match &mut self.duties {
            Some(duties) => match duties.next(&self.view, at, rest) {
                Ok(wake) => wake,
                // The list's front was used up: look again, in a turn of its own.
                Err(Stop::Need(_)) => clock,
                Err(Stop::Refuse(_)) => clock + TICK,
            },
            None => clock + rest,
        };
        match &self.floor {
            // The watch sends home whoever waits too long.
            Some(_) => duty,
            None => self.bell.hall().first_deadline().map_or(duty, |end| duty.min(end)),
        }
    }

    /// How long the lane may rest when nothing is due. Where a watch looks at all shards, an idle
    /// lane costs nothing; after a commit it looks once more, for holds and schedules that are new.
    fn longest_rest(&mut self) -> Duration {
        let committed =
            std::mem::replace(&mut self.rested_at, self.view.head.n) != self.view.head.n;
        if self.floor.is_none() || committed { TICK } else { REST_MAX }
    }
}

fn duty_call(command: Command, now: Time) -> Call {
    Call { now, actor: Name::trusted(DUTY_ACTOR), chance: 0, idem: None, command }
}
