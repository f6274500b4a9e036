//! Failed tasks of earlier revisions that the work of later ones waits behind.

use armarius_core::flow::Reference;
use armarius_core::ids::{CollectionId, QueueId, TaskId};
use armarius_core::rows::{self, Body, Target};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{Need, Stop, View};

use crate::look::{Look, Lost};

/// What a task waits for is looked through up to so many.
const BLOCKERS_MAX: usize = 100;

/// The failed tasks that stand in the way of later revisions of an archive, as `NAME@REVISION`.
pub(crate) fn of_archive(look: &mut Look<'_>, row: &rows::Archive) -> Result<Vec<String>, Lost> {
    let queues = look.view.queues.iter().map(|(_, queue)| queue);
    let waits = |queue: &&rows::Queue| queue.counts[State::Waiting.index()] > 0;
    let queues = queues.filter(|queue| queue.collection == row.collection).filter(waits);
    let queues: Vec<QueueId> = queues.map(|queue| queue.id).collect();
    let found = look.ask_all(&queues, |view, queue| match oldest(view, *queue)? {
        Some((revision, task)) => earlier(view, task, revision),
        None => Ok(Earlier::None),
    })?;
    let mut found: Vec<String> = found.into_iter().filter_map(Earlier::failed).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// For each of some waiting tasks, with its revision: the failed task of an earlier one that it
/// waits behind; empty when it waits for something else.
pub(crate) fn of_tasks(look: &mut Look<'_>, waiting: &[(&Body, i64)]) -> Result<Vec<String>, Lost> {
    look.ask_all(waiting, |view, (body, revision)| {
        // Only who waits for an earlier one that waits itself, and so on, stands in line.
        match earlier(view, body.id, *revision)? {
            Earlier::Failed(name) => return Ok(name),
            Earlier::Waits => {}
            Earlier::None => return Ok(String::new()),
        }
        let Some(own) = view.queues.get(&body.queue)? else { return Ok(String::new()) };
        let Some(version) = view.versions.get(&body.version)? else { return Ok(String::new()) };
        let depends = version.def.step(&own.step).map(|step| step.depends.as_slice());
        for depend in depends.unwrap_or_default() {
            let name = match &depend.on {
                Reference::Prev => &own.step,
                Reference::PrevTask(name) => name,
                Reference::Task(_) => continue,
            };
            for queue in queues(view, own.collection, name) {
                let Some((_, first)) = oldest(view, queue)?.filter(|(n, _)| n < revision) else {
                    continue;
                };
                if let Earlier::Failed(name) = earlier(view, first, *revision)? {
                    return Ok(name);
                }
            }
        }
        Ok(String::new())
    })
}

/// What a task waits for in revisions before its own.
enum Earlier {
    /// A task that failed, as `NAME@REVISION`.
    Failed(String),
    /// A task that waits for something, too.
    Waits,
    /// Nothing of the kind.
    None,
}

impl Earlier {
    fn failed(self) -> Option<String> {
        match self {
            Self::Failed(name) => Some(name),
            Self::Waits | Self::None => None,
        }
    }
}

/// The oldest task of a queue that is not settled, with its revision: whoever stands behind it
/// waits for what it waits for.
fn oldest(view: &View, queue: QueueId) -> Result<Option<(i64, TaskId)>, Stop> {
    Ok(view.instances.first(&queue, 1)?.next().map(|(key, ())| *key))
}

/// What a task waits for in revisions below one.
fn earlier(view: &View, task: TaskId, below: i64) -> Result<Earlier, Stop> {
    let targets = view.blockers.first(&task, BLOCKERS_MAX)?.take(BLOCKERS_MAX);
    let ids: Vec<TaskId> = targets
        .filter_map(|(target, _)| match target {
            Target::Task(id) => Some(*id),
            Target::Absent(_) => None,
        })
        .collect();
    // All of them in one question.
    need(ids.iter().filter_map(|id| view.tasks.missing(id)))?;
    need(ids.iter().filter_map(|id| view.bodies.missing(id)))?;
    let mut found = Earlier::None;
    for id in ids {
        let (Some(row), Some(body)) = (view.tasks.get(&id)?, view.bodies.get(&id)?) else {
            continue;
        };
        let revision = view.items.get(&body.item)?.and_then(|item| item.ordinal);
        let Some(revision) = revision.filter(|n| *n < below) else { continue };
        match row.state {
            State::Failed => {
                let step = view.queues.get(&body.queue)?.map(|queue| queue.step.to_string());
                return Ok(Earlier::Failed(format!("{}@{revision}", step.unwrap_or_default())));
            }
            State::Waiting => found = Earlier::Waits,
            State::Held | State::Ready | State::Leased | State::Done | State::Cancelled => {}
        }
    }
    Ok(found)
}

fn need(missing: impl Iterator<Item = Need>) -> Result<(), Stop> {
    let needs: Vec<Need> = missing.collect();
    if needs.is_empty() { Ok(()) } else { Err(Stop::Need(needs)) }
}

/// The queues of a step of that name, in whichever file of the archive it stands or stood.
fn queues(view: &View, home: CollectionId, step: &Name) -> Vec<QueueId> {
    let start = (home, Name::trusted(""));
    let flows = view.flow_names.iter_from(&start).take_while(|((c, _), _)| *c == home);
    let queue = |flow| view.queue_names.get(&(flow, step.clone())).ok().flatten().copied();
    flows.filter_map(|(_, flow)| queue(*flow)).collect()
}
