//! The only way a task changes state: counters, round, batch, event and row move together.

use super::desk::{Desk, Fact, Rule};
use crate::event::{self, Outcome};
use crate::ids::{BatchId, LeaseId, TaskId, Token};
use crate::refusal::{Code, Refusal};
use crate::rows::{BatchState, Body, Counter, Follow, Lease, RoundKey, RoundStatus, Task};
use crate::task::{self, Cause, State, Verb};
use crate::text::{Name, Text};

/// A change of state and what is said about it.
pub(super) struct Move {
    pub(super) verb: Verb,
    pub(super) to: State,
    pub(super) cause: Cause,
    pub(super) token: Option<Token>,
    pub(super) detail: Option<Text>,
    /// The content the work was based on, where the move ends an attempt.
    pub(super) basis: Option<i64>,
}

impl Move {
    pub(super) fn new(verb: Verb, to: State) -> Self {
        Self { verb, to, cause: Cause::None, token: None, detail: None, basis: None }
    }

    pub(super) fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    pub(super) fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    pub(super) fn detail(mut self, detail: Option<Text>) -> Self {
        self.detail = detail;
        self
    }

    pub(super) fn basis(mut self, basis: i64) -> Self {
        self.basis = Some(basis);
        self
    }
}

impl Desk<'_> {
    /// Brings a new task into the world.
    pub(super) fn plan(&mut self, mut task: Task, body: &Body) -> Rule<()> {
        let to = if task.blockers == 0 { State::Ready } else { State::Waiting };
        task.state = to;
        self.recount(body, None, to, Cause::None)?;
        // The history vouches for what was asked for, without repeating it.
        let digest = (!body.payload.is_empty()).then(|| event::digest(&body.payload));
        let fact = Fact { task: Some(task.id), to: Some(to), digest, ..Fact::default() };
        self.append(body.item, fact)?;
        self.note_instance(body, task.id, true)?;
        if to == State::Ready && self.step(body)?.is_milestone() {
            return self.shift(task, body, Move::new(Verb::Pass, State::Done));
        }
        if to == State::Ready {
            self.stand(&mut task, body)?;
            self.became_ready(body)?;
        }
        self.view.tasks.put(task.id, task);
        Ok(())
    }

    /// Moves a task from one state to another.
    #[expect(clippy::needless_pass_by_value, reason = "a move is made for one shift")]
    pub(super) fn shift(&mut self, mut task: Task, body: &Body, mv: Move) -> Rule<()> {
        let from = task.state;
        if !task::allowed(Some(from), mv.verb, mv.to) {
            return Err(not_from(&task, mv.verb).into());
        }
        if from == State::Ready {
            self.leave(&mut task, body, mv.to == State::Leased)?;
        }
        if let Some(hold) = task.hold.take() {
            self.view.held.delete(hold, task.id);
        }
        task.state = mv.to;
        task.cause = mv.cause;
        task.since = self.now();
        if mv.to != State::Leased {
            task.lease = None;
        }
        let status = self.recount(body, Some(from), mv.to, mv.cause)?;
        self.tell(&task, body, &mv, status)?;
        self.alarm_of_failure(&task, body)?;
        if mv.to == State::Ready && self.step(body)?.is_milestone() {
            return self.shift(task, body, Move::new(Verb::Pass, State::Done));
        }
        if mv.to == State::Ready {
            self.stand(&mut task, body)?;
            if mv.verb == Verb::Unblock {
                self.became_ready(body)?;
            }
            if from == State::Leased && !body.fingerprint.is_empty() {
                // Its trigger may have gone while it was in a worker's hands.
                self.wake_robots(body.item, "", body.depth)?;
            }
        }
        if mv.to.is_settled() {
            self.note_instance(body, task.id, false)?;
            self.follows.push_back(Follow::Settled(task.id));
            self.view.settled(task.id, body.item);
        } else if from.is_settled() {
            self.note_instance(body, task.id, true)?;
        }
        self.view.tasks.put(task.id, task);
        Ok(())
    }

    /// Ends a task that may be in a worker's hands: its token is raised at once, its lease keeps a
    /// *stopping* grip, and with it the task's slots, until the stop is confirmed or it lapses.
    pub(super) fn end(&mut self, id: TaskId, mut mv: Move) -> Rule<()> {
        let mut task = self.task(id)?.clone();
        let body = self.body(id)?.clone();
        if let (State::Leased, Some(lease)) = (task.state, task.lease) {
            let epoch = self.count(Counter::Epoch)?;
            mv = mv.token(task.token);
            task.token = task.token.next(epoch);
            task.admitted = 0;
            if let Some(mut row) = self.view.leases.get(&lease)?.cloned() {
                let old = row.due_at();
                for grip in row.grips.iter_mut().filter(|g| g.task == id) {
                    grip.stopping = true;
                }
                self.put_lease(old, row);
            }
        }
        self.shift(task, &body, mv)
    }

    /// Appends the transition's event, which is also the flow's recorded event when the round
    /// settles with it.
    fn tell(
        &mut self,
        task: &Task,
        body: &Body,
        mv: &Move,
        settled: Option<RoundStatus>,
    ) -> Rule<()> {
        let mut fact = Fact {
            task: Some(task.id),
            to: Some(mv.to),
            token: mv.token,
            detail: mv.detail.clone().or_else(|| cause_text(mv.cause)),
            ..Fact::default()
        };
        fact.outcome = match mv.to {
            State::Done => Some(Outcome::Success),
            State::Failed => Some(Outcome::Failure),
            State::Waiting | State::Held | State::Ready | State::Leased | State::Cancelled => None,
        };
        let recorded = match settled {
            Some(RoundStatus::Done) => Some(Outcome::Success),
            Some(RoundStatus::Failed) => Some(Outcome::Failure),
            Some(RoundStatus::Open | RoundStatus::Cancelled) | None => None,
        };
        let counts = recorded.is_some() && self.counts(body, mv)?;
        let Some(outcome) = recorded.filter(|_| counts) else {
            self.append(body.item, fact)?;
            return if settled.is_some() { self.ask_again(body, mv) } else { Ok(()) };
        };
        let (records, touches) = {
            let def = &self.version(body)?.def;
            (def.records.clone(), def.touches)
        };
        if let Some(name) = &records {
            fact.name = Some(name.clone());
            fact.outcome = Some(outcome);
        }
        let n = self.append(body.item, fact)?;
        self.record(body, mv, n, outcome, records.as_ref(), touches)
    }

    /// Whether a round that settled with this move has come to an end that counts: not when a part
    /// of it was withdrawn, or when its remains are replaced by a newer round of a robot.
    fn counts(&self, body: &Body, mv: &Move) -> Rule<bool> {
        if body.fingerprint.is_empty() {
            return Ok(true);
        }
        if matches!(mv.cause, Cause::TriggerGone | Cause::Superseded(_)) {
            return Ok(false);
        }
        if body.solo {
            return Ok(true);
        }
        for step in &self.def(body)?.tasks {
            if let Some(id) = self.sibling(body, &step.name)?.filter(|id| *id != body.id)
                && self.task(id)?.cause == Cause::TriggerGone
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the mark of a settled round, and moves the content number if the work changed it.
    fn record(
        &mut self,
        body: &Body,
        mv: &Move,
        n: i64,
        outcome: Outcome,
        records: Option<&Name>,
        touches: bool,
    ) -> Rule<()> {
        let current = self.item(body.item)?.changed_seq;
        // Whoever comes late to a robot's work saw at best what there was when it was opened.
        let opened = if mv.verb == Verb::Late { content_of(&body.fingerprint) } else { None };
        let mut basis = mv.basis.or(opened).unwrap_or(current);
        let touched = touches && outcome == Outcome::Success;
        if touched {
            let mut item = self.item(body.item)?.clone();
            item.changed_seq = n;
            self.view.items.put(item.id, item);
            // Work that changed the content it was based on is up to date with its own change; if
            // somebody else changed it meanwhile, it stays stale.
            if basis == current {
                basis = n;
            }
        }
        if let Some(name) = records {
            self.mark(body.item, name, n, outcome, basis);
        }
        let depth = body.depth.saturating_add(1);
        match records {
            Some(_) | None if touched => self.wake_robots(body.item, "", depth),
            Some(name) => self.wake_robots(body.item, name, depth),
            None => self.ask_again(body, mv),
        }
    }

    /// While a robot's round was open it was not asked: what came about meanwhile counts now.
    fn ask_again(&mut self, body: &Body, mv: &Move) -> Rule<()> {
        // What was replaced has a newer round, and what was withdrawn has just been asked about.
        let known = matches!(mv.cause, Cause::Superseded(_) | Cause::TriggerGone);
        if body.fingerprint.is_empty() || known {
            return Ok(());
        }
        // A robot always looks at its own event.
        let own = self.version(body)?.def.records.clone();
        let depth = body.depth.saturating_add(1);
        self.wake_robots(body.item, own.as_ref().map_or("", |name| name), depth)
    }

    /// Keeps the counters of queue, round and batch. Answers the round's status if it just settled.
    fn recount(
        &mut self,
        body: &Body,
        from: Option<State>,
        to: State,
        cause: Cause,
    ) -> Rule<Option<RoundStatus>> {
        let mut queue = self.queue(body.queue)?.clone();
        if let Some(from) = from {
            queue.counts[from.index()] -= 1;
        }
        queue.counts[to.index()] += 1;
        self.view.queues.put(queue.id, queue);

        let (before, after) = if body.solo {
            (from.map(RoundStatus::of), RoundStatus::of(to))
        } else {
            self.recount_round(body, from, to, cause)?
        };
        if before == Some(after) {
            return Ok(None);
        }
        if let Some(batch) = body.batch {
            self.recount_batch(batch, before, after)?;
        }
        Ok((after != RoundStatus::Open).then_some(after))
    }

    fn recount_round(
        &mut self,
        body: &Body,
        from: Option<State>,
        to: State,
        cause: Cause,
    ) -> Rule<(Option<RoundStatus>, RoundStatus)> {
        let key = RoundKey { item: body.item, flow: body.flow, round: body.round };
        let mut round = self.view.rounds.get(&key)?.cloned().unwrap_or_default();
        let known = round.counts.iter().any(|n| *n > 0);
        let before = known.then(|| round.status());
        if let Some(from) = from {
            round.counts[from.index()] = round.counts[from.index()].saturating_sub(1);
            if from == State::Cancelled {
                // Only an operator's cancel can be taken back, and only such a cancel blocks.
                round.blocking = round.blocking.saturating_sub(1);
            }
        }
        round.counts[to.index()] += 1;
        if to == State::Cancelled && !cause.counts_as_skipped() {
            round.blocking += 1;
        }
        round.batch = body.batch;
        let after = round.status();
        self.view.rounds.put(key, round);
        Ok((before, after))
    }

    fn recount_batch(
        &mut self,
        batch: BatchId,
        before: Option<RoundStatus>,
        after: RoundStatus,
    ) -> Rule<()> {
        let Some(mut row) = self.view.batches.get(&batch)?.cloned() else { return Ok(()) };
        if let Some(before) = before {
            *row.counter(before) -= 1;
        } else {
            row.total += 1;
        }
        *row.counter(after) += 1;
        let complete = row.state == BatchState::Processing && row.open == 0;
        self.view.batches.put(batch, row);
        if complete {
            self.begin_report(batch)?;
        }
        Ok(())
    }

    /// Keeps the list of open instances of a step on items with an ordinal.
    fn note_instance(&mut self, body: &Body, task: TaskId, open: bool) -> Rule<()> {
        if let Some(ordinal) = self.item(body.item)?.ordinal {
            if open {
                self.view.instances.put(body.queue, (ordinal, task), ());
            } else {
                self.view.instances.delete(body.queue, (ordinal, task));
            }
        }
        Ok(())
    }

    /// At the moment a task becomes ready it supersedes what its step cancels.
    fn became_ready(&mut self, body: &Body) -> Rule<()> {
        if !self.step(body)?.cancels.is_empty() {
            self.follows.push_back(Follow::Supersede(body.id));
        }
        Ok(())
    }

    /// Takes a grip out of a lease and renews the lease; deletes it when it was the last.
    pub(super) fn loosen(&mut self, lease: LeaseId, task: TaskId, token: Token) -> Rule<()> {
        let Some(row) = self.view.leases.get(&lease)? else { return Ok(()) };
        let due = row.due_at();
        let kept = row.grips.iter().filter(|g| g.task != task || g.token != token);
        let row = Lease {
            grips: kept.copied().collect(),
            expires_at: row.expires_at.max(self.now().plus(row.ttl)),
            worker: row.worker.clone(),
            actor: row.actor.clone(),
            ..*row
        };
        self.put_lease(due, row);
        Ok(())
    }
}

impl crate::rows::Batch {
    fn counter(&mut self, status: RoundStatus) -> &mut i64 {
        match status {
            RoundStatus::Open => &mut self.open,
            RoundStatus::Done => &mut self.done,
            RoundStatus::Failed => &mut self.failed,
            RoundStatus::Cancelled => &mut self.cancelled,
        }
    }
}

/// The content a robot's round was opened for.
fn content_of(fingerprint: &str) -> Option<i64> {
    let rest = fingerprint.strip_prefix("content ")?;
    rest.split([',', ' ']).next()?.parse().ok()
}

/// The cause as an event's detail, where there is nothing better to say.
fn cause_text(cause: Cause) -> Option<Text> {
    match cause {
        Cause::None => None,
        Cause::Superseded(by) => Some(format!("superseded by task {by}").into()),
        Cause::TriggerGone
        | Cause::Skipped
        | Cause::Operator
        | Cause::Permanent
        | Cause::Exhausted
        | Cause::Poison
        | Cause::Timeout
        | Cause::Transient
        | Cause::NotYet => Some(cause.as_str().into()),
    }
}

/// "You cannot do that now."
fn not_from(task: &Task, verb: Verb) -> Refusal {
    Refusal::new(
        Code::WrongState,
        format!("task {} is {} and takes no {}", task.id, task.state, verb.as_str()),
    )
    .hint("look at the task's present state; `armarius task why` says what it waits for")
}
