//! Why is it not running? The whole tree of what a task, item or batch waits for, since when, and
//! the action that would clear each.
//!
//! Like `decide`, a question is asked of a view and says what it still needs until it can answer.

use std::collections::BTreeSet;
use std::fmt;

use crate::address::{ItemAddress, TaskAddress};
use crate::decide::{PLAN_OF, limits_of};
use crate::flow::Way;
use crate::ids::{BatchId, HoldId, ItemId, LeaseId, TaskId, Time};
use crate::rows::{ArchiveState, BatchState, Body, Queue, Rank, Scope, Spot, Target, Task};
use crate::task::{Cause, State};
use crate::view::{Stop, View};

/// Blockers, members or tasks shown below one node.
const CHILDREN_MAX: usize = 20;
/// How deep the tree goes.
const DEPTH_MAX: usize = 32;
/// Tasks ahead in a queue that are counted before "many" is said.
const AHEAD_MAX: usize = 1_000;

/// One thing that is waited for, and what it waits for in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is and how it stands.
    pub what: String,
    /// Since when.
    pub since: Time,
    /// What would clear it; empty when nothing needs to be done.
    pub clear: String,
    /// What it waits for.
    pub because: Vec<Self>,
}

impl Node {
    fn new(what: impl Into<String>, since: Time) -> Self {
        Self { what: what.into(), since, clear: String::new(), because: Vec::new() }
    }

    fn clear(mut self, action: impl Into<String>) -> Self {
        self.clear = action.into();
        self
    }

    fn because(mut self, node: Self) -> Self {
        self.because.push(node);
        self
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        if depth > 0 {
            write!(f, "\n{:indent$}", "", indent = depth * 2)?;
        }
        f.write_str(&self.what)?;
        if !self.clear.is_empty() {
            write!(f, " [{}]", self.clear)?;
        }
        self.because.iter().try_for_each(|node| node.write(f, depth + 1))
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// Why a task is where it is.
pub fn why_task(view: &View, task: TaskId, now: Time) -> Result<Node, Stop> {
    Asker { view, now, seen: BTreeSet::new() }.task(task, 0)
}

/// Why an item's work is not finished.
pub fn why_item(view: &View, item: ItemId, now: Time) -> Result<Node, Stop> {
    Asker { view, now, seen: BTreeSet::new() }.item(item)
}

/// Why a batch is not finished.
pub fn why_batch(view: &View, batch: BatchId, now: Time) -> Result<Node, Stop> {
    Asker { view, now, seen: BTreeSet::new() }.batch(batch)
}

struct Asker<'v> {
    view: &'v View,
    now: Time,
    /// Tasks already in the tree; each is explained once.
    seen: BTreeSet<TaskId>,
}

impl Asker<'_> {
    fn task(&mut self, id: TaskId, depth: usize) -> Result<Node, Stop> {
        let (Some(task), Some(body)) = (self.view.tasks.get(&id)?, self.view.bodies.get(&id)?)
        else {
            return Ok(Node::new(format!("task {id} does not exist"), self.now));
        };
        let name = self.address(body)?;
        let node = Node::new(format!("{name} is {}", task.state), task.since);
        if !self.seen.insert(id) || depth > DEPTH_MAX {
            return Ok(node);
        }
        let mut node = match task.state {
            State::Waiting => self.waiting(node, task, depth)?,
            State::Held => match task.hold {
                Some(hold) => node.because(self.hold(hold)?),
                None => node,
            },
            State::Ready => self.ready(node, task, body)?,
            State::Leased => node.because(self.lease(task, body)?),
            State::Failed => {
                let what = format!("{name} failed ({})", task.cause.as_str());
                Node { what, ..node }.clear(format!("armarius task retry {name}, or skip it"))
            }
            State::Cancelled => self.cancelled(&name, task)?,
            State::Done => node,
        };
        node.because.extend(self.errands(id)?);
        Ok(node)
    }

    fn waiting(&mut self, mut node: Node, task: &Task, depth: usize) -> Result<Node, Stop> {
        let targets: Vec<Target> = {
            let list = self.view.blockers.first(&task.id, CHILDREN_MAX + 1)?;
            list.take(CHILDREN_MAX).map(|(target, _)| target.clone()).collect()
        };
        for target in &targets {
            node.because.push(match target {
                Target::Task(id) => self.task(*id, depth + 1)?,
                Target::Absent(address) if address.starts_with(PLAN_OF) => {
                    self.plan(task, address)?
                }
                Target::Absent(address) => {
                    Node::new(format!("{address} does not exist yet"), task.since)
                        .clear("submit it, or skip the task that waits for it")
                }
            });
        }
        let left = (task.blockers as usize).saturating_sub(targets.len());
        if left > 0 {
            node.because.push(Node::new(format!("and {left} more"), task.since));
        }
        Ok(node)
    }

    /// A revision that is not planned: its archive waits for it, or for an earlier one.
    fn plan(&self, task: &Task, address: &str) -> Result<Node, Stop> {
        let Some(body) = self.view.bodies.get(&task.id)? else {
            return Ok(Node::new(address, task.since));
        };
        let home = self.view.flows.get(&body.flow)?.map(|f| f.collection);
        let archive = match home {
            Some(home) => self.view.archives.get(&home)?,
            None => None,
        };
        let (Some(archive), Some(home)) = (archive, home) else {
            return Ok(Node::new(address, task.since));
        };
        let name = self.view.collections.get(&home)?.map_or("", |c| c.name.as_str());
        let (revision, since) = archive.awaited().unwrap_or((archive.planned + 1, task.since));
        let node = Node::new(format!("awaiting revision {revision} of archive {name}"), since);
        Ok(match archive.state {
            ArchiveState::Watched => {
                node.clear(format!("armarius archive show {name}, or skip the revision"))
            }
            ArchiveState::Unreachable | ArchiveState::Stopped | ArchiveState::Removed => {
                let what = format!("the archive is {}: {}", archive.state.as_str(), archive.reason);
                node.because(Node::new(what, archive.since).clear("see to the repository"))
            }
        })
    }

    fn ready(&mut self, mut node: Node, task: &Task, body: &Body) -> Result<Node, Stop> {
        match task.spot {
            Spot::Timer => {
                let seconds = (task.ready_at.0.saturating_sub(self.now.0)).max(0) / 1_000_000;
                let why = match task.cause {
                    Cause::Transient => "back-off after a transient failure",
                    Cause::NotYet => "its worker said not yet",
                    Cause::Timeout => "back-off after a time-out",
                    Cause::None
                    | Cause::Superseded(_)
                    | Cause::TriggerGone
                    | Cause::Skipped
                    | Cause::Operator
                    | Cause::Permanent
                    | Cause::Exhausted
                    | Cause::Poison => "not before its time",
                };
                node.because.push(Node::new(format!("{why}: {seconds} s left"), task.since));
            }
            Spot::Line => node.because.push(self.limit(task, body)?),
            Spot::Queue | Spot::Nowhere => node.because = self.turn(task, body)?,
        }
        Ok(node)
    }

    fn limit(&self, task: &Task, body: &Body) -> Result<Node, Stop> {
        let Some(queue) = self.view.queues.get(&body.queue)? else {
            return Ok(Node::new("its queue is missing", task.since));
        };
        let version = self.view.versions.get(&body.version)?;
        let home = self.view.collections.get(&queue.collection)?;
        let limits = match (version, home) {
            (Some(version), Some(home)) => match version.def.step(&queue.step) {
                Some(step) => limits_of(&home.name, &version.def, step, &body.payload),
                None => Vec::new(),
            },
            (Some(_) | None, Some(_) | None) => Vec::new(),
        };
        let Some((key, max)) = limits.get(usize::from(task.admitted)) else {
            return Ok(Node::new("a limit", task.since));
        };
        let used = self.view.slots.get(key)?.map_or(0, |s| s.used);
        Ok(Node::new(format!("limit {key}: {used} of {max} slots taken"), task.since)
            .clear("wait for one, or raise the limit"))
    }

    /// What keeps a task in its queue from being claimed.
    fn turn(&self, task: &Task, body: &Body) -> Result<Vec<Node>, Stop> {
        let Some(queue) = self.view.queues.get(&body.queue)? else { return Ok(Vec::new()) };
        let mut nodes = Vec::new();
        // Those of the task, its item and its batch are met by the next claim that reaches it.
        let own = [Scope::Task(body.id), Scope::Item(body.item)];
        let wide =
            [Scope::Collection(queue.collection), Scope::Flow(queue.flow), Scope::Step(queue.id)];
        for scope in own.into_iter().chain(body.batch.map(Scope::Batch)).chain(wide) {
            if let Some(hold) = self.view.hold_scopes.get(&scope)? {
                nodes.push(self.hold(*hold)?);
            }
        }
        let taken = self.view.flows.get(&queue.flow)?.and_then(|f| f.taken);
        if let Some(lease) = taken
            && let Some(row) = self.view.leases.get(&lease)?
        {
            nodes.push(Node::new(format!("{} holds the robot", row.worker), row.granted_at));
        }
        if nodes.is_empty() {
            nodes.push(self.place_in_queue(task, queue)?);
        }
        Ok(nodes)
    }

    fn place_in_queue(&self, task: &Task, queue: &Queue) -> Result<Node, Stop> {
        let rank = Rank { behind: task.priority.saturating_neg(), ord: task.ord, task: task.id };
        let ahead = {
            let list = self.view.ready.first(&queue.id, AHEAD_MAX)?;
            list.take(AHEAD_MAX).take_while(|(r, ())| **r < rank).count()
        };
        let names: Vec<&str> = queue.labels.iter().map(|l| l.as_str()).collect();
        let (labels, option) = if names.is_empty() {
            (String::new(), String::new())
        } else {
            (format!(" with labels {}", names.join(", ")), format!(" --labels {}", names.join(",")))
        };
        let who = match queue.way {
            Way::Command | Way::Script => format!("a worker{labels}"),
            Way::Image => format!("a worker{labels} that runs containers"),
            Way::Outside => format!("a worker{labels} from outside"),
            Way::BuiltIn => format!("a worker{labels} that has this built-in step"),
        };
        let start = match queue.way {
            Way::Command | Way::Script | Way::BuiltIn => {
                format!("start a worker: armarius work{option}")
            }
            Way::Image => {
                format!("start a worker: armarius work{option} --container-tool podman")
            }
            Way::Outside => "start the program that claims this step over the API".to_owned(),
        };
        // Somebody does this work: it may be a matter of waiting.
        let (at_work, clear) = match queue.counts[State::Leased.index()] {
            0 => (String::new(), start),
            n => (format!("; {n} at work on this step"), format!("wait for one, or {start}")),
        };
        let place = match ahead {
            0 => "first in its queue".to_owned(),
            AHEAD_MAX => format!("behind {AHEAD_MAX} or more in its queue"),
            n => format!("behind {n} in its queue"),
        };
        Ok(Node::new(format!("{place}, waiting for {who}{at_work}"), task.since).clear(clear))
    }

    fn lease(&self, task: &Task, body: &Body) -> Result<Node, Stop> {
        let lease: Option<LeaseId> = task.lease;
        let Some(row) = (match lease {
            Some(id) => self.view.leases.get(&id)?,
            None => None,
        }) else {
            return Ok(Node::new("its lease is missing", task.since));
        };
        let left = (row.expires_at.0.saturating_sub(self.now.0)).max(0) / 1_000_000;
        Ok(Node::new(
            format!("worker {} has it, attempt {}, {left} s to renew", row.worker, task.attempts),
            row.granted_at.max(body.created_at),
        ))
    }

    fn cancelled(&self, name: &str, task: &Task) -> Result<Node, Stop> {
        Ok(match task.cause {
            Cause::Superseded(by) => {
                let by = match self.view.bodies.get(&by)? {
                    Some(body) => self.address(body)?,
                    None => format!("task {by}"),
                };
                Node::new(format!("{name} was superseded by {by}"), task.since)
            }
            Cause::Operator => Node::new(format!("{name} was cancelled"), task.since)
                .clear(format!("armarius task retry {name}, or skip it")),
            Cause::TriggerGone => {
                Node::new(format!("{name} was withdrawn: its trigger is gone"), task.since)
            }
            Cause::Skipped => Node::new(format!("{name} was skipped"), task.since),
            Cause::None
            | Cause::Permanent
            | Cause::Exhausted
            | Cause::Poison
            | Cause::Timeout
            | Cause::Transient
            | Cause::NotYet => Node::new(format!("{name} is cancelled"), task.since),
        })
    }

    fn hold(&self, id: HoldId) -> Result<Node, Stop> {
        Ok(match self.view.holds.get(&id)? {
            Some(hold) => {
                Node::new(format!("hold {id} by {}: {}", hold.owner, hold.reason), hold.since)
                    .clear(format!("armarius hold release {id}"))
            }
            None => Node::new(format!("hold {id} was released; it goes on in a moment"), self.now),
        })
    }

    /// Errands that will still do something for a task.
    fn errands(&self, id: TaskId) -> Result<Vec<Node>, Stop> {
        let list = self.view.errands.first(&(), CHILDREN_MAX)?;
        Ok(list
            .take(CHILDREN_MAX)
            .filter(|(_, errand)| errand.follow.task() == Some(id))
            .map(|(n, errand)| Node::new(format!("errand {n} is on its way"), errand.since))
            .collect())
    }

    fn item(&mut self, id: ItemId) -> Result<Node, Stop> {
        let Some(item) = self.view.items.get(&id)? else {
            return Ok(Node::new(format!("item {id} does not exist"), self.now));
        };
        let tasks: Vec<TaskId> = {
            let list = self.view.item_tasks.first(&id, AHEAD_MAX)?;
            list.take(AHEAD_MAX).map(|(task, ())| *task).collect()
        };
        let mut node =
            Node::new(format!("{} has no open work", self.item_address(id)?), item.first_seen_at);
        for task in tasks {
            let state = self.view.tasks.get(&task)?.map(|t| t.state);
            let ended = matches!(state, Some(State::Done | State::Cancelled) | None);
            if !ended && node.because.len() < CHILDREN_MAX {
                let child = self.task(task, 1)?;
                node.because.push(child);
            }
        }
        if !node.because.is_empty() {
            node.what = format!("{} has open work", self.item_address(id)?);
        }
        Ok(node)
    }

    fn batch(&mut self, id: BatchId) -> Result<Node, Stop> {
        let Some(batch) = self.view.batches.get(&id)? else {
            return Ok(Node::new(format!("batch {id} does not exist"), self.now));
        };
        let mut node = Node::new(
            format!(
                "batch {id} is {}: {} open, {} done, {} failed, {} cancelled",
                batch.state.as_str(),
                batch.open,
                batch.done,
                batch.failed,
                batch.cancelled
            ),
            self.now,
        );
        if batch.state == BatchState::Open {
            node = node.clear(format!("armarius batch seal {id}, when it is complete"));
        }
        let members: Vec<ItemId> = {
            let list = self.view.members.first(&id, AHEAD_MAX)?;
            list.take(AHEAD_MAX).map(|(_, member)| member.round.item).collect()
        };
        for item in members {
            if node.because.len() >= CHILDREN_MAX {
                break;
            }
            let child = self.item(item)?;
            if !child.because.is_empty() {
                node.because.push(child);
            }
        }
        Ok(node)
    }

    fn address(&self, body: &Body) -> Result<String, Stop> {
        let (Some(flow), Some(queue)) =
            (self.view.flows.get(&body.flow)?, self.view.queues.get(&body.queue)?)
        else {
            return Ok(format!("task {}", body.id));
        };
        Ok(TaskAddress {
            flow: flow.name.clone(),
            step: queue.step.clone(),
            item: match self.item_at(body.item)? {
                Some(item) => item,
                None => return Ok(format!("task {}", body.id)),
            },
            part: body.part.clone(),
            round: body.round,
        }
        .to_string())
    }

    fn item_address(&self, id: ItemId) -> Result<String, Stop> {
        Ok(self.item_at(id)?.map_or_else(|| format!("item {id}"), |at| at.to_string()))
    }

    fn item_at(&self, id: ItemId) -> Result<Option<ItemAddress>, Stop> {
        let Some(item) = self.view.items.get(&id)? else { return Ok(None) };
        let home = self.view.collections.get(&item.collection)?;
        Ok(home.map(|c| ItemAddress {
            collection: c.name.clone(),
            kind: item.kind.clone(),
            key: item.key.clone(),
        }))
    }
}
