//! Standing queries: robots that are woken by what an item has, has not, or has outlived.
//!
//! When an item changes, the robots that the change concerns are asked about that item in that
//! commit. Nothing polls, nothing scans, and the cost does not grow with the archive.

use std::sync::Arc;

use super::desk::{Desk, Rule};
use super::moves::Move;
use super::plan::Opening;
use super::{batch, collection, flow};
use crate::event::Outcome;
use crate::flow::{On, Query};
use crate::ids::{CollectionId, FlowId, ItemId, QueueId, Span, TaskId, Time};
use crate::limits::{LOOP_GAP_SECONDS, LOOP_ROUNDS_MAX};
use crate::rows::{Item, Mark, RoundKey, RoundStatus, Scope, TaskKey};
use crate::task::{Cause, State, Verb};
use crate::text::{Name, Text};
use crate::view::{Line, Robot};

/// How one event name stands for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The newest event's outcome.
    pub outcome: Outcome,
    /// Whether it was based on the item's present content.
    pub current: bool,
}

/// Kinds of the items that carry the rules' own records: meant only where a query names them.
const OWN_KINDS: [&str; 3] = [collection::KIND, flow::SCHEDULE_KIND, batch::KIND];

/// What nobody has taken yet.
const OPEN: [State; 3] = [State::Waiting, State::Held, State::Ready];

/// Whether a query holds for an item, given how each event name stands.
pub fn holds(query: &Query, item: &Item, stands: impl Fn(&Name) -> Option<Standing>) -> bool {
    let has = |name: &Name, outcome| stands(name).is_some_and(|s| s.outcome == outcome);
    fits(query, item)
        && query.success.iter().all(|n| has(n, Outcome::Success))
        && query.failed.iter().all(|n| has(n, Outcome::Failure))
        && query.absent.iter().all(|n| stands(n).is_none())
        && query.stale.iter().all(|n| stands(n).is_none_or(|s| !s.current))
}

/// Whether the item is one that a query is about, whatever happened to it.
#[must_use]
pub fn fits(query: &Query, item: &Item) -> bool {
    let of_kind = match query.kinds.as_slice() {
        [] => !OWN_KINDS.contains(&item.kind.as_str()),
        kinds => kinds.contains(&item.kind),
    };
    !item.deleted
        && of_kind
        && (query.items.is_empty() || query.items.contains(&item.key))
        && query.types.iter().all(|t| item.types.contains(t))
}

/// How a mark stands for the triggers of its item.
#[must_use]
pub fn standing(mark: &Mark, item: &Item) -> Option<Standing> {
    let current = mark.based_on >= item.changed_seq;
    (!mark.hidden).then_some(Standing { outcome: mark.outcome, current })
}

/// The occasion on which robots are asked.
#[derive(Clone, Copy)]
pub(super) struct Occasion {
    /// How often robots woke each other up to here.
    pub(super) depth: u32,
    /// The item was rewound: what is leased on a trigger that is gone is taken back.
    pub(super) rewound: bool,
}

impl Desk<'_> {
    /// The robots of a collection.
    pub(super) fn line(&mut self, home: CollectionId) -> Rule<Arc<Line>> {
        let edition = self.view.flows.edition();
        if let Some(line) = self.view.robots.line(edition, home) {
            return Ok(line);
        }
        let flows = self.collection(home)?.robots.clone();
        let view = &self.view;
        let mut needs = Vec::new();
        for flow in &flows {
            needs.extend(view.versions.missing(&self.flow(*flow)?.version));
        }
        self.require(needs.into_iter())?;
        let mut robots = Vec::with_capacity(flows.len());
        for flow in flows {
            robots.extend(self.robot(flow)?.map(Arc::new));
        }
        let line = Arc::new(Line::new(robots));
        self.view.robots.keep(edition, home, Arc::clone(&line));
        Ok(line)
    }

    /// A flow as a robot; it asks nothing when it is none, or is one no longer.
    pub(super) fn robot(&self, flow: FlowId) -> Rule<Option<Robot>> {
        let row = self.flow(flow)?;
        let Some(version) = self.view.versions.get(&row.version)? else { return Ok(None) };
        let query = match &version.def.on {
            On::Items(query) if !row.removed => Some(query.clone()),
            On::Items(_)
            | On::Commit { .. }
            | On::Lot
            | On::Submission
            | On::Pairs { .. }
            | On::Schedule(_)
            | On::Manual => None,
        };
        let queues = self.view.queues.iter().filter(|(_, q)| q.flow == flow).map(|(id, _)| *id);
        let (version, def, queues) = (version.id, Arc::clone(&version.def), queues.collect());
        Ok(Some(Robot { flow, version, def, query, queues }))
    }

    /// Asks one robot about one item.
    pub(super) fn ask_robot(&mut self, robot: &Robot, item: ItemId, on: Occasion) -> Rule<()> {
        let Some(seen) = self.seen(robot, item)? else {
            return self.withdraw(robot, item, on.rewound);
        };
        let round = self.robot_round(robot, item)?;
        let tasks = self.robot_tasks(robot, item, round)?;
        if self.round_status(robot, item, round, &tasks)? == Some(RoundStatus::Open) {
            return Ok(());
        }
        let fingerprint: Text = format!("{seen} v{}", robot.version).into();
        if self.last_fingerprint(&tasks)? == fingerprint {
            return Ok(());
        }
        let depth = self.loop_depth(robot, &tasks, on.depth)?;
        let first = self.open_robot_round(robot, item, fingerprint, depth)?;
        self.replace_round(&tasks, first)
    }

    /// What a robot's query sees of an item, as text, if it holds.
    fn seen(&self, robot: &Robot, item: ItemId) -> Rule<Option<String>> {
        let Some(query) = &robot.query else { return Ok(None) };
        let row = self.item(item)?;
        if !fits(query, row) {
            return Ok(None);
        }
        let view = &self.view;
        let fresh = self.has_no_marks(item)?;
        let names = query.names().filter(|_| !fresh);
        self.require(names.filter_map(|name| view.marks.missing(&(item, name.clone()))))?;
        // What is not known now belongs to an item without marks.
        let mark = |name: &Name| view.marks.get(&(item, name.clone())).ok().flatten();
        if !holds(query, row, |name| mark(name).and_then(|m| standing(m, row))) {
            return Ok(None);
        }
        use std::fmt::Write as _;
        let mut seen = format!("content {}", row.changed_seq);
        for name in query.names() {
            // A mark that was made invisible is not the same as one that never was.
            let n = mark(name).map_or(0, |m| if m.hidden { -m.n } else { m.n });
            let _ = write!(seen, ", {name} {n}");
        }
        Ok(Some(seen))
    }

    /// Whether nothing with an outcome can have happened to an item yet.
    fn has_no_marks(&self, item: ItemId) -> Rule<bool> {
        Ok(self.view.heads.get(&item)?.is_none_or(|head| head.n <= 1))
    }

    /// Whether a robot's trigger holds for an item.
    pub(super) fn trigger_holds(&self, robot: &Robot, item: ItemId) -> Rule<bool> {
        Ok(self.seen(robot, item)?.is_some())
    }

    /// Tasks of a robot that are in one of these states, whatever their items.
    fn robot_count(&self, robot: &Robot, states: &[State]) -> Rule<i64> {
        let mut sum = 0;
        for queue in &robot.queues {
            let counts = self.queue(*queue)?.counts;
            sum += states.iter().map(|state| counts[state.index()]).sum::<i64>();
        }
        Ok(sum)
    }

    /// The newest round of a robot on an item; nobody looks for one when it has done nothing yet.
    fn robot_round(&self, robot: &Robot, item: ItemId) -> Rule<u32> {
        if self.robot_count(robot, &State::ALL)? == 0 {
            return Ok(0);
        }
        self.latest_round((item, robot.flow))
    }

    fn robot_tasks(&self, robot: &Robot, item: ItemId, round: u32) -> Rule<Vec<TaskId>> {
        if round == 0 {
            return Ok(Vec::new());
        }
        let key = |queue: &QueueId| TaskKey { item, queue: *queue, part: Text::from(""), round };
        let view = &self.view;
        self.require(robot.queues.iter().filter_map(|q| view.task_keys.missing(&key(q))))?;
        let mut tasks = Vec::new();
        for queue in &robot.queues {
            tasks.extend(view.task_keys.get(&key(queue))?.copied());
        }
        self.require(tasks.iter().flat_map(|id| {
            [view.tasks.missing(id), view.bodies.missing(id)].into_iter().flatten()
        }))?;
        Ok(tasks)
    }

    /// How a round stands; nothing when there was none.
    fn round_status(
        &self,
        robot: &Robot,
        item: ItemId,
        round: u32,
        tasks: &[TaskId],
    ) -> Rule<Option<RoundStatus>> {
        let Some(first) = tasks.first() else { return Ok(None) };
        if self.body(*first)?.solo {
            return Ok(Some(RoundStatus::of(self.task(*first)?.state)));
        }
        let row = self.view.rounds.get(&RoundKey { item, flow: robot.flow, round })?;
        Ok(row.map(crate::rows::Round::status))
    }

    /// What the last round saw when it was opened; nothing where it was withdrawn before its end,
    /// for then it is as if it had not been.
    fn last_fingerprint(&self, tasks: &[TaskId]) -> Rule<Text> {
        for task in tasks {
            if self.task(*task)?.cause == Cause::TriggerGone {
                return Ok(Text::from(""));
            }
        }
        match tasks.first() {
            Some(task) => Ok(self.body(*task)?.fingerprint.clone()),
            None => Ok(Text::from("")),
        }
    }

    /// How often robots woke each other: by what they record, or by doing the same thing to the
    /// same item again within moments, whoever seems to be the cause.
    fn loop_depth(&self, robot: &Robot, tasks: &[TaskId], depth: u32) -> Rule<u32> {
        let Some(task) = tasks.first() else { return Ok(depth) };
        let (last, now) = (self.body(*task)?, self.now());
        let again = last.depth.saturating_add(1);
        if now < last.created_at.plus(Span::seconds(LOOP_GAP_SECONDS)) {
            return Ok(depth.max(again));
        }
        // A robot that changes nothing and ends with an outdated result was outrun by somebody.
        let outrun = !robot.def.touches && depth == again && self.task(*task)?.since == now;
        Ok(if outrun { 0 } else { depth })
    }

    fn open_robot_round(
        &mut self,
        robot: &Robot,
        item: ItemId,
        fingerprint: Text,
        depth: u32,
    ) -> Rule<TaskId> {
        let home = self.item(item)?.collection;
        let robots = u32::try_from(self.collection(home)?.robots.len()).unwrap_or(u32::MAX);
        let spent = depth > LOOP_ROUNDS_MAX.saturating_add(robots);
        if spent {
            let why = format!(
                "robots woke each other {depth} times, {} last; release it for as many more",
                robot.def.name
            );
            self.brake(Scope::Item(item), Scope::Flow(robot.flow), &why)?;
        }
        let opening = Opening {
            item,
            flow: robot.flow,
            version: robot.version,
            payload: Text::from(""),
            priority: self.item(item)?.priority,
            not_before: Time::ZERO,
            parts: vec![Text::from("")],
            batch: None,
            fingerprint,
            depth: if spent { 0 } else { depth },
            depends: Vec::new(),
            commit: None,
        };
        self.open_round(opening).map(|(_, first)| first)
    }

    /// What the round before left behind, failed or never come to, is replaced by the new one.
    fn replace_round(&mut self, tasks: &[TaskId], by: TaskId) -> Rule<()> {
        for id in tasks {
            let state = self.task(*id)?.state;
            if matches!(state, State::Waiting | State::Failed) {
                let mv =
                    Move::new(Verb::Supersede, State::Cancelled).because(Cause::Superseded(by));
                self.end(*id, mv)?;
            }
        }
        Ok(())
    }

    /// The trigger holds no longer: what nobody has taken yet is withdrawn. What is in a worker's
    /// hands runs on and its result is recorded, unless the item was rewound: then it loses its
    /// token. A round that somebody asked for needs no trigger.
    pub(super) fn withdraw(&mut self, robot: &Robot, item: ItemId, rewound: bool) -> Rule<()> {
        let mut states = OPEN.to_vec();
        if rewound {
            states.push(State::Leased);
        }
        if self.robot_count(robot, &states)? == 0 {
            return Ok(());
        }
        let round = self.latest_round((item, robot.flow))?;
        let tasks = self.robot_tasks(robot, item, round)?;
        if self.round_status(robot, item, round, &tasks)? != Some(RoundStatus::Open) {
            // What a failure left undone waits for a person, or for the next round.
            return Ok(());
        }
        for id in tasks {
            let triggered = !self.body(id)?.fingerprint.is_empty();
            if triggered && states.contains(&self.task(id)?.state) {
                let mv = Move::new(Verb::Withdraw, State::Cancelled).because(Cause::TriggerGone);
                self.end(id, mv)?;
            }
        }
        Ok(())
    }

    /// Whether a flow has nothing that could be withdrawn.
    pub(super) fn has_nothing_open(&self, flow: FlowId) -> bool {
        let counts = self.view.queues.iter().filter(|(_, q)| q.flow == flow).map(|(_, q)| q.counts);
        counts.into_iter().all(|counts| OPEN.iter().all(|state| counts[state.index()] == 0))
    }

    /// Whether a robot has anything that could be withdrawn.
    pub(super) fn may_withdraw(&self, robot: &Robot) -> Rule<bool> {
        Ok(self.robot_count(robot, &OPEN)? > 0)
    }
}
