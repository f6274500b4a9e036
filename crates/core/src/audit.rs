//! What must be true of every world, looked at piece by piece, so that a store of any size can be
//! checked with bounded memory. [`invariants`](crate::invariants) looks at a whole world in one
//! piece.
//!
//! A *part* is a sheet that holds some tasks and everything that belongs to them. What can be seen
//! in a part is judged there; what is a sum over all parts – counters, slots – is gathered and
//! judged at the end. Sums whose number grows with the store can be taken out after each part and
//! added up elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::limits_of;
use crate::event;
use crate::fold::{Folded, FoldedMark, FoldedTask};
use crate::ids::{BatchId, ItemId, QueueId, TaskId};
use crate::rows::{Batch, Counter, Rank, Round, RoundKey, RoundStatus, Slots, Spot, Target, Task};
use crate::task::State;
use crate::text::Text;
use crate::view::View;

/// Findings that are kept; more are counted.
const FINDINGS_MAX: usize = 10_000;

/// Members of a batch that are open, done, failed, cancelled.
pub type BatchCounts = [i64; 4];
/// Tasks of a round by state.
pub type RoundCounts = [u32; 7];

/// Everything that was found so far, and the sums.
#[derive(Debug, Default)]
pub struct Audit {
    wrong: Vec<String>,
    more: usize,
    queues: BTreeMap<QueueId, [i64; 7]>,
    rounds: BTreeMap<RoundKey, RoundCounts>,
    batches: BTreeMap<BatchId, BatchCounts>,
    used: BTreeMap<Text, u32>,
    absent: i64,
    seen: u64,
}

/// Which tasks of a part are looked at; the others are there because something refers to them.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// After this one.
    pub after: TaskId,
    /// Up to this one.
    pub upto: TaskId,
}

impl Stretch {
    /// All there are.
    pub const ALL: Self = Self { after: TaskId(i64::MIN), upto: TaskId(i64::MAX) };

    fn holds(self, task: TaskId) -> bool {
        task > self.after && task <= self.upto
    }
}

impl Audit {
    /// Everything that is wrong; empty when all is well.
    #[must_use]
    pub fn finish(mut self) -> Vec<String> {
        if self.more > 0 {
            self.wrong.push(format!("… and {} more", self.more));
        }
        self.wrong
    }

    /// Notes something wrong.
    pub fn note(&mut self, what: String) {
        if self.wrong.len() < FINDINGS_MAX {
            self.wrong.push(what);
        } else {
            self.more += 1;
        }
    }

    /// The sums over rounds since they were last taken.
    pub fn take_rounds(&mut self) -> BTreeMap<RoundKey, RoundCounts> {
        std::mem::take(&mut self.rounds)
    }

    /// The sums over batches since they were last taken.
    pub fn take_batches(&mut self) -> BTreeMap<BatchId, BatchCounts> {
        std::mem::take(&mut self.batches)
    }

    /// Every lease of a part, whose tasks and bodies are in it: what it grips is its own.
    pub fn leases(&mut self, part: &View) {
        for (id, lease) in part.leases.iter() {
            if lease.grips.is_empty() {
                self.note(format!("lease {id} holds nothing"));
            }
            if part.due_leases.seen(&(), &(lease.due_at(), *id)).is_none() {
                self.note(format!("lease {id} is not on the clock"));
            }
            for grip in &lease.grips {
                if grip.stopping {
                    self.take_slots(limits(part, grip.task));
                    continue;
                }
                let task = part.tasks.get(&grip.task).ok().flatten();
                let held = task.is_some_and(|t| {
                    t.state == State::Leased && t.lease == Some(*id) && t.token == grip.token
                });
                if !held {
                    self.note(format!("lease {id} grips task {}, which is not its own", grip.task));
                }
            }
        }
    }

    /// A stretch of tasks: each with its body, the leases that grip it, the places it waits at, its
    /// hold and its edges, and the tasks those lead to.
    pub fn tasks(&mut self, part: &View, stretch: Stretch) {
        self.grips(part, stretch);
        self.places(part, stretch);
        self.edges(part, stretch);
        self.count(part, stretch);
    }

    /// A leased task has exactly one live grip, any other none.
    fn grips(&mut self, part: &View, stretch: Stretch) {
        let mut grips: BTreeMap<TaskId, usize> = BTreeMap::new();
        for (_, lease) in part.leases.iter() {
            for grip in lease.grips.iter().filter(|g| !g.stopping && stretch.holds(g.task)) {
                *grips.entry(grip.task).or_default() += 1;
            }
        }
        for (id, task) in of(part, stretch) {
            let held = grips.get(id).copied().unwrap_or(0);
            if held != usize::from(task.state == State::Leased) {
                self.note(format!("task {id} is {} with {held} live grips", task.state));
            }
        }
    }

    /// A ready task waits in exactly one place, and nobody else waits anywhere.
    fn places(&mut self, part: &View, stretch: Stretch) {
        let mut places: BTreeMap<TaskId, Vec<Spot>> = BTreeMap::new();
        for (queue, rank, ()) in part.ready.iter().filter(|(_, r, ())| stretch.holds(r.task)) {
            places.entry(rank.task).or_default().push(Spot::Queue);
            let body = part.bodies.get(&rank.task).ok().flatten();
            if body.is_none_or(|b| b.queue != *queue) {
                self.note(format!("task {} stands in the wrong queue {queue}", rank.task));
            }
            self.rank(part, *rank);
        }
        for (_, rank, ()) in part.lines.iter().filter(|(_, r, ())| stretch.holds(r.task)) {
            places.entry(rank.task).or_default().push(Spot::Line);
            self.rank(part, *rank);
        }
        for (_, (_, task), ()) in part.timers.iter().filter(|(_, (_, t), ())| stretch.holds(*t)) {
            places.entry(*task).or_default().push(Spot::Timer);
        }
        for (id, task) in of(part, stretch) {
            let found = places.remove(id).unwrap_or_default();
            let wanted: &[Spot] = if task.state == State::Ready { &[task.spot] } else { &[] };
            if found != wanted || (task.state == State::Ready) == (task.spot == Spot::Nowhere) {
                self.note(format!("task {id} is {} and waits at {found:?}", task.state));
            }
            let held = task.hold.is_some_and(|h| part.held.seen(&h, id).is_some());
            if held != (task.state == State::Held) {
                self.note(format!("task {id} is {} and held is {held}", task.state));
            }
        }
        for id in places.keys() {
            self.note(format!("task {id} waits somewhere but has no row"));
        }
    }

    /// Who stands in line stands where the row of the task says.
    fn rank(&mut self, part: &View, rank: Rank) {
        let row = part.tasks.get(&rank.task).ok().flatten();
        if row.is_some_and(|task| Rank::of(task) != rank) {
            self.note(format!("task {} stands at the wrong place of its line", rank.task));
        }
    }

    /// Blockers are the number of unsatisfied dependencies, seen from both ends.
    fn edges(&mut self, part: &View, stretch: Stretch) {
        let pending: BTreeSet<TaskId> =
            part.errands.iter().filter_map(|(_, _, errand)| errand.follow.task()).collect();
        let mut blockers: BTreeMap<TaskId, u32> = BTreeMap::new();
        for (target, dependent, edge) in part.dependents.iter() {
            if !stretch.holds(*dependent) {
                continue;
            }
            *blockers.entry(*dependent).or_default() += 1;
            if part.blockers.seen(dependent, target) != Some(edge) {
                self.note(format!("task {dependent} does not know its blocker {target:?}"));
            }
            match target {
                Target::Absent(_) => self.absent += 1,
                Target::Task(id) => {
                    let settled = part.tasks.get(id).ok().flatten().is_some_and(|t| {
                        t.state == State::Done || (t.state == State::Cancelled && skips(t))
                    });
                    if settled && !pending.contains(id) {
                        self.note(format!("task {dependent} still waits for settled task {id}"));
                    }
                }
            }
        }
        for (id, task) in of(part, stretch) {
            let counted = blockers.get(id).copied().unwrap_or(0);
            if task.blockers != counted {
                self.note(format!("task {id}: {} blockers, {counted} edges", task.blockers));
            }
            if (task.state == State::Waiting) && counted == 0 {
                self.note(format!("task {id} waits for nothing"));
            }
            if matches!(task.state, State::Ready | State::Leased | State::Held) && counted > 0 {
                self.note(format!("task {id} is {} with {counted} blockers", task.state));
            }
        }
    }

    /// Adds tasks to what is counted per queue, round, batch and limit.
    fn count(&mut self, part: &View, stretch: Stretch) {
        for (id, task) in of(part, stretch) {
            if task.admitted > 0 {
                let keys = limits(part, *id).into_iter().take(usize::from(task.admitted));
                self.take_slots(keys.collect());
            }
            let Some(body) = part.bodies.get(id).ok().flatten() else {
                self.note(format!("task {id} has no body"));
                continue;
            };
            self.queues.entry(body.queue).or_default()[task.state.index()] += 1;
            if body.solo {
                if let Some(batch) = body.batch {
                    let place = place(RoundStatus::of(task.state));
                    self.batches.entry(batch).or_default()[place] += 1;
                }
            } else {
                let key = RoundKey { item: body.item, flow: body.flow, round: body.round };
                self.rounds.entry(key).or_default()[task.state.index()] += 1;
            }
        }
    }

    fn take_slots(&mut self, keys: Vec<Text>) {
        for key in keys {
            *self.used.entry(key).or_default() += 1;
        }
    }

    /// A round against what was counted of its tasks.
    pub fn round(&mut self, key: &RoundKey, round: &Round, counted: Option<RoundCounts>) {
        if counted != Some(round.counts) {
            self.note(format!("round {key:?}: {:?}, counted otherwise", round.counts));
        }
        if let Some(batch) = round.batch {
            self.batches.entry(batch).or_default()[place(round.status())] += 1;
        }
    }

    /// A batch against what was counted of its members.
    pub fn batch(&mut self, batch: &Batch, counted: BatchCounts) {
        let kept = [batch.open, batch.done, batch.failed, batch.cancelled];
        if kept != counted || batch.total != counted.iter().sum::<i64>() {
            let (id, total) = (batch.id, batch.total);
            self.note(format!("batch {id}: {kept:?} of {total}, counted {counted:?}"));
        }
    }

    /// A limit against the slots that are taken; all limits before [`Audit::totals`].
    pub fn slots(&mut self, key: &Text, slots: &Slots, somebody_waits: bool) {
        let counted = self.used.remove(key).unwrap_or(0);
        if slots.used != counted {
            self.note(format!("limit {key}: {} taken, {counted} counted", slots.used));
        }
        if somebody_waits && slots.used < slots.max {
            self.note(format!("limit {key}: free slots, yet somebody waits"));
        }
    }

    /// What remains when everything has been looked at: queues, and dependencies on tasks to come.
    pub fn totals(&mut self, part: &View) {
        for key in std::mem::take(&mut self.used).keys() {
            self.note(format!("limit {key}: taken, but has no row"));
        }
        for (id, queue) in part.queues.iter() {
            let counted = self.queues.get(id).copied().unwrap_or_default();
            if queue.counts != counted {
                self.note(format!("queue {id}: {:?}, counted {counted:?}", queue.counts));
            }
        }
        let kept = part.counters.get(&Counter::Absent).ok().flatten().copied().unwrap_or(0);
        if kept != self.absent {
            let absent = self.absent;
            self.note(format!("{absent} dependencies on tasks to come, counted as {kept}"));
        }
    }

    /// What an item's events say against its rows, which are in the part.
    pub fn history(&mut self, part: &View, item: ItemId, folded: &Folded) {
        for (task, told) in &folded.tasks {
            self.seen += 1;
            if let Some(what) = differs(part, *task, told) {
                self.note(what);
            }
        }
        for (name, told) in &folded.marks {
            let mark = part.marks.get(&(item, name.clone())).ok().flatten();
            let row = mark.map(|m| FoldedMark {
                n: m.n,
                outcome: m.outcome,
                hidden: m.hidden,
                imported: m.imported,
            });
            if row != Some(*told) {
                self.note(format!("item {item}: mark {name} is {row:?}, events say {told:?}"));
            }
        }
    }

    /// How many task rows there are against how many the history knows; after all of it.
    pub fn rows(&mut self, rows: u64) {
        if rows != self.seen {
            let seen = self.seen;
            self.note(format!("{rows} task rows, but {seen} tasks in the history"));
        }
    }
}

fn of(part: &View, stretch: Stretch) -> impl Iterator<Item = (&TaskId, &Task)> {
    part.tasks.iter().filter(move |(id, _)| stretch.holds(**id))
}

/// What a task's rows say differently from its events.
fn differs(part: &View, task: TaskId, told: &FoldedTask) -> Option<String> {
    let Some(row) = part.tasks.get(&task).ok().flatten() else {
        return Some(format!("task {task}: has events but no row"));
    };
    if row.state != told.state {
        return Some(format!("task {task}: row says {}, events say {}", row.state, told.state));
    }
    if row.token < told.token {
        let (row, told) = (row.token, told.token);
        return Some(format!("task {task}: token {row} is below granted token {told}"));
    }
    if row.since != told.since {
        let (state, row, told) = (row.state, row.since.0, told.since.0);
        return Some(format!("task {task}: {state} since {row}, events say {told}"));
    }
    let body = part.bodies.get(&task).ok().flatten()?;
    if body.created_at != told.made_at {
        let (row, told) = (body.created_at.0, told.made_at.0);
        return Some(format!("task {task}: made at {row}, events say {told}"));
    }
    let rotten = told.payload.is_some_and(|digest| digest != event::digest(&body.payload));
    rotten.then(|| format!("task {task}: its payload is not the one it was submitted with"))
}

fn limits(part: &View, task: TaskId) -> Vec<Text> {
    let found = || {
        let body = part.bodies.get(&task).ok()??;
        let queue = part.queues.get(&body.queue).ok()??;
        let version = part.versions.get(&body.version).ok()??;
        let home = part.collections.get(&queue.collection).ok()??;
        let step = version.def.step(&queue.step)?;
        Some(limits_of(&home.name, &version.def, step, &body.payload))
    };
    found().unwrap_or_default().into_iter().map(|(key, _)| key).collect()
}

fn skips(task: &Task) -> bool {
    task.cause.counts_as_skipped()
}

fn place(status: RoundStatus) -> usize {
    match status {
        RoundStatus::Open => 0,
        RoundStatus::Done => 1,
        RoundStatus::Failed => 2,
        RoundStatus::Cancelled => 3,
    }
}
