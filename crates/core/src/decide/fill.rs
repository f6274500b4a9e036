//! A robot comes to an archive, changes or leaves: it is asked about every item that is there,
//! piece by piece, while other work goes on.
//!
//! A piece asks for what it needs in waves, all items at once, and most items are done with after
//! one look at an event that is not there.

use super::desk::{Desk, Rule};
use super::follow::{Progress, ROWS_PER_ENTRY};
use super::trigger::{Occasion, fits, holds, standing};
use crate::event::Outcome;
use crate::flow::Query;
use crate::ids::{FlowId, ItemId, TaskId};
use crate::limits::{ERRAND_CHUNK_MAX, FILL_ITEMS_MAX, FILL_ROWS_MAX};
use crate::rows::{RoundKey, Target, TaskKey};
use crate::text::{Name, Text};
use crate::view::{Glanced, Robot, Stop};

impl Desk<'_> {
    /// Asks one robot about the next items of its collection. `fresh`: it had nothing open when it
    /// was registered, so there is nothing to withdraw either. What it opens meanwhile is withdrawn
    /// by the events that end its trigger.
    pub(super) fn follow_fill(&mut self, flow: FlowId, fresh: bool, cursor: i64) -> Rule<Progress> {
        let Some(robot) = self.robot(flow)? else { return Ok(Progress::Done) };
        // As it was before this piece: what is opened here is not withdrawn here.
        let withdraws = !fresh && self.may_withdraw(&robot)?;
        if robot.query.is_none() && !withdraws {
            return Ok(Progress::Done);
        }
        let items = self.next_items(flow, cursor)?;
        let chunk = items.get(..FILL_ITEMS_MAX).unwrap_or(&items);
        let satisfying = match &robot.query {
            Some(query) => self.satisfying(query, chunk)?,
            None => Vec::new(),
        };
        self.preload_rounds(&robot, if withdraws { chunk } else { &satisfying }, &satisfying)?;
        let (mut last, mut rows) = (cursor, 0);
        for item in chunk {
            let before = self.view.events.len();
            if satisfying.binary_search(item).is_ok() {
                self.ask_robot(&robot, *item, Occasion { depth: 0, rewound: false })?;
            } else if withdraws {
                self.withdraw(&robot, *item, false)?;
            }
            last = item.0;
            // Only what was written counts: most items are merely looked at.
            rows += (self.view.events.len() - before) * ROWS_PER_ENTRY;
            if rows >= FILL_ROWS_MAX {
                break;
            }
        }
        let more = items.last().is_some_and(|item| item.0 > last);
        let glanced = chunk.iter().take_while(|item| item.0 <= last);
        self.glanced = Some(Glanced {
            flow,
            items: glanced.filter(|i| satisfying.binary_search(i).is_err()).copied().collect(),
            names: robot.query.iter().flat_map(Query::names).cloned().collect(),
        });
        Ok(if more { Progress::More(last) } else { Progress::Done })
    }

    /// The next items of a flow's collection, and one more if there are more.
    fn next_items(&self, flow: FlowId, cursor: i64) -> Rule<Vec<ItemId>> {
        let home = self.flow(flow)?.collection;
        let (after, max) = (ItemId(cursor), FILL_ITEMS_MAX + 1);
        let list = self.view.collection_items.after(&home, Some(&after), max)?;
        Ok(list.take(max).map(|(id, ())| *id).collect())
    }

    /// The items that satisfy a query, in order.
    fn satisfying(&self, query: &Query, items: &[ItemId]) -> Rule<Vec<ItemId>> {
        let view = &self.view;
        self.require(items.iter().filter_map(|id| view.items.missing(id)))?;
        let mut left: Vec<ItemId> = Vec::with_capacity(items.len());
        for id in items {
            if fits(query, self.item(*id)?) {
                left.push(*id);
            }
        }
        // The names that are asked to be there come first: most items are done with after one.
        for (names, outcome) in
            [(&query.failed, Outcome::Failure), (&query.success, Outcome::Success)]
        {
            for name in names {
                self.know_marks(&left, name)?;
                left.retain(|id| {
                    let mark = view.marks.get(&(*id, name.clone())).ok().flatten();
                    mark.is_some_and(|m| !m.hidden && m.outcome == outcome)
                });
            }
        }
        for name in query.absent.iter().chain(&query.stale) {
            self.know_marks(&left, name)?;
        }
        left.retain(|id| {
            let mark = |name: &Name| view.marks.get(&(*id, name.clone())).ok().flatten();
            let row = view.items.get(id).ok().flatten();
            row.is_some_and(|row| holds(query, row, |n| mark(n).and_then(|m| standing(m, row))))
        });
        Ok(left)
    }

    fn know_marks(&self, items: &[ItemId], name: &Name) -> Rule<()> {
        let marks = &self.view.marks;
        self.require(items.iter().filter_map(|id| marks.missing(&(*id, name.clone()))))
    }

    /// Asks for the newest rounds of items, and for all that opening or withdrawing one will read.
    fn preload_rounds(&self, robot: &Robot, items: &[ItemId], opening: &[ItemId]) -> Rule<()> {
        let (view, flow) = (&self.view, robot.flow);
        self.require(items.iter().filter_map(|id| view.latest_rounds.missing(&(*id, flow))))?;
        let mut keys = Vec::new();
        for item in items {
            let round = self.latest_round((*item, flow))?;
            for queue in robot.queues.iter().filter(|_| round > 0) {
                keys.push(TaskKey { item: *item, queue: *queue, part: Text::from(""), round });
            }
        }
        self.require(keys.iter().filter_map(|key| view.task_keys.missing(key)))?;
        let mut tasks = Vec::new();
        for key in &keys {
            tasks.extend(view.task_keys.get(key)?.copied());
        }
        self.require(tasks.iter().flat_map(|id| {
            [view.tasks.missing(id), view.bodies.missing(id)].into_iter().flatten()
        }))?;
        self.preload_histories(opening, &tasks)
    }

    /// Whoever gets a round or loses one gets an event, too.
    fn preload_histories(&self, opening: &[ItemId], tasks: &[TaskId]) -> Rule<()> {
        let view = &self.view;
        let mut needs: Vec<_> = opening.iter().filter_map(|id| view.heads.missing(id)).collect();
        for id in tasks {
            let body = self.body(*id)?;
            if !body.solo {
                let key = RoundKey { item: body.item, flow: body.flow, round: body.round };
                needs.extend(view.rounds.missing(&key));
            }
            if !self.task(*id)?.state.is_settled() {
                needs.extend(view.items.missing(&body.item));
                needs.extend(view.heads.missing(&body.item));
                needs.extend(view.versions.missing(&body.version));
                // Those who wait for it are looked for when it is withdrawn.
                let (target, none) = (Target::Task(*id), TaskId(0));
                if let Err(Stop::Need(list)) =
                    view.dependents.after(&target, Some(&none), ERRAND_CHUNK_MAX + 1)
                {
                    needs.extend(list);
                }
            }
        }
        self.require(needs.into_iter())
    }
}
