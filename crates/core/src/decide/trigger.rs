//! Standing queries: robots that are woken by what an item has, has not, or has outlived.
//!
//! When an item changes, the robots of its collection are asked about that item in that commit.
//! Nothing polls, nothing scans, and the cost does not grow with the archive.

use super::desk::{Desk, Rule};
use super::moves::Move;
use super::plan::Opening;
use crate::event::Outcome;
use crate::flow::{Flow, On, Query};
use crate::ids::{FlowId, ItemId, TaskId, Time};
use crate::rows::{Item, Mark, TaskKey};
use crate::task::{Cause, State, Verb};
use crate::text::{Name, Text};

/// How one event name stands for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The newest event's outcome.
    pub outcome: Outcome,
    /// Whether it was based on the item's present content.
    pub current: bool,
}

/// Whether a query holds for an item, given how each event name stands.
pub fn holds(query: &Query, item: &Item, stands: impl Fn(&Name) -> Option<Standing>) -> bool {
    let has = |name: &Name, outcome| stands(name).is_some_and(|s| s.outcome == outcome);
    !item.deleted
        && (query.kinds.is_empty() || query.kinds.contains(&item.kind))
        && (query.items.is_empty() || query.items.contains(&item.key))
        && query.types.iter().all(|t| item.types.contains(t))
        && query.success.iter().all(|n| has(n, Outcome::Success))
        && query.failed.iter().all(|n| has(n, Outcome::Failure))
        && query.absent.iter().all(|n| stands(n).is_none())
        && query.stale.iter().all(|n| stands(n).is_none_or(|s| !s.current))
}

/// Every event name a query mentions.
fn query_names(query: &Query) -> impl Iterator<Item = &Name> {
    [&query.success, &query.failed, &query.absent, &query.stale].into_iter().flatten()
}

impl Desk<'_> {
    /// Asks one robot about one item.
    pub(super) fn ask_robot(&mut self, flow: FlowId, item: ItemId) -> Rule<()> {
        let row = self.flow(flow)?.clone();
        let Some(version) = self.view.versions.get(&row.version)?.cloned() else { return Ok(()) };
        let wanted = match &version.def.on {
            On::Items(query) if !row.removed => self.query_holds(query, item)?,
            On::Items(_)
            | On::Commit { .. }
            | On::Lot
            | On::Submission
            | On::Pairs { .. }
            | On::Schedule(_)
            | On::Manual => None,
        };
        let round = self.latest_round((item, flow))?;
        let tasks = self.robot_tasks(&version.def, flow, item, round)?;
        let mut open = false;
        for task in &tasks {
            open |= !self.task(*task)?.state.is_settled();
        }
        match wanted {
            Some(seen) if !open => {
                let fingerprint: Text = format!("{seen} v{}", version.id).into();
                let last = match tasks.first() {
                    Some(task) => self.body(*task)?.fingerprint.clone(),
                    None => Text::from(""),
                };
                if last != fingerprint {
                    self.open_robot_round(flow, item, row.version, fingerprint)?;
                }
                Ok(())
            }
            Some(_) => Ok(()),
            None => self.withdraw(&tasks),
        }
    }

    /// Asks for what [`Desk::ask_robot`] will read for many items, wave by wave.
    pub(super) fn preload_robot(&self, flow: FlowId, items: &[ItemId]) -> Rule<()> {
        let view = &self.view;
        let row = self.flow(flow)?;
        let Some(version) = view.versions.get(&row.version)? else { return Ok(()) };
        self.require(items.iter().flat_map(|id| {
            [view.items.missing(id), view.heads.missing(id)].into_iter().flatten()
        }))?;
        self.require(items.iter().filter_map(|id| view.latest_rounds.missing(&(*id, flow))))?;
        if let On::Items(query) = &version.def.on {
            let names: Vec<&Name> = query_names(query).collect();
            self.require(items.iter().flat_map(|id| {
                names.iter().filter_map(|name| view.marks.missing(&(*id, (*name).clone())))
            }))?;
        }
        let mut keys = Vec::new();
        for id in items {
            let round = self.latest_round((*id, flow))?;
            for step in version.def.tasks.iter().filter(|_| round > 0) {
                let queue = self.queue_of(flow, &step.name)?;
                keys.push(TaskKey { item: *id, queue, part: Text::from(""), round });
            }
        }
        self.require(keys.iter().filter_map(|key| view.task_keys.missing(key)))?;
        let mut tasks = Vec::new();
        for key in &keys {
            tasks.extend(view.task_keys.get(key)?.copied());
        }
        self.require(
            tasks.iter().flat_map(|id| {
                [view.tasks.missing(id), view.bodies.missing(id)].into_iter().flatten()
            }),
        )
    }

    /// What the query sees, as text, if it holds.
    fn query_holds(&self, query: &Query, item: ItemId) -> Rule<Option<String>> {
        let row = self.item(item)?;
        let view = &self.view;
        self.require(
            query_names(query).filter_map(|name| view.marks.missing(&(item, name.clone()))),
        )?;
        let mark = |name: &Name| -> Option<&Mark> {
            view.marks.get(&(item, name.clone())).ok().flatten().filter(|m| !m.hidden)
        };
        let stands = |name: &Name| {
            mark(name)
                .map(|m| Standing { outcome: m.outcome, current: m.based_on >= row.changed_seq })
        };
        if !holds(query, row, stands) {
            return Ok(None);
        }
        let mut seen = format!("content {}", row.changed_seq);
        for name in query_names(query) {
            let n = mark(name).map_or(0, |m| m.n);
            seen.push_str(&format!(", {name} {n}"));
        }
        Ok(Some(seen))
    }

    fn robot_tasks(&self, def: &Flow, flow: FlowId, item: ItemId, round: u32) -> Rule<Vec<TaskId>> {
        if round == 0 {
            return Ok(Vec::new());
        }
        let mut tasks = Vec::new();
        for step in &def.tasks {
            let queue = self.queue_of(flow, &step.name)?;
            let key = TaskKey { item, queue, part: Text::from(""), round };
            tasks.extend(self.view.task_keys.get(&key)?.copied());
        }
        Ok(tasks)
    }

    fn open_robot_round(
        &mut self,
        flow: FlowId,
        item: ItemId,
        version: crate::ids::VersionId,
        fingerprint: Text,
    ) -> Rule<()> {
        let opening = Opening {
            item,
            flow,
            version,
            payload: Text::from(""),
            priority: self.item(item)?.priority,
            not_before: Time::ZERO,
            parts: vec![Text::from("")],
            batch: None,
            fingerprint,
            depth: 0,
            depends: Vec::new(),
        };
        self.open_round(&opening).map(|_| ())
    }

    /// The trigger holds no longer: what nobody has taken yet is withdrawn; what is in a worker's
    /// hands runs on, and its result is recorded.
    fn withdraw(&mut self, tasks: &[TaskId]) -> Rule<()> {
        for id in tasks {
            let state = self.task(*id)?.state;
            if matches!(state, State::Waiting | State::Held | State::Ready) {
                let mv = Move::new(Verb::Withdraw, State::Cancelled).because(Cause::TriggerGone);
                self.end(*id, mv)?;
            }
        }
        Ok(())
    }
}
