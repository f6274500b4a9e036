//! Failed tasks of earlier revisions that the work of later ones waits behind.

use armarius_core::flow::Reference;
use armarius_core::ids::{CollectionId, QueueId, TaskId};
use armarius_core::rows::{self, Body, Target};
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::{Stop, View};

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
        Some((revision, task)) => failed_before(view, task, revision),
        None => Ok(None),
    })?;
    let mut found: Vec<String> = found.into_iter().flatten().collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// For each of some waiting tasks, with its revision: the failed task of an earlier one that it
/// waits behind; empty when it waits for something else.
pub(crate) fn of_tasks(look: &mut Look<'_>, waiting: &[(&Body, i64)]) -> Result<Vec<String>, Lost> {
    look.ask_all(waiting, |view, (body, revision)| {
        let Some(own) = view.queues.get(&body.queue)? else { return Ok(String::new()) };
        let Some(version) = view.versions.get(&body.version)? else { return Ok(String::new()) };
        let depends = version.def.step(&own.step).map(|step| step.depends.as_slice());
        let mut in_line = vec![body.id];
        for depend in depends.unwrap_or_default() {
            let name = match &depend.on {
                Reference::Prev => &own.step,
                Reference::PrevTask(name) => name,
                Reference::Task(_) => continue,
            };
            for queue in queues(view, own.collection, name) {
                let first = oldest(view, queue)?.filter(|(earlier, _)| earlier < revision);
                in_line.extend(first.map(|(_, task)| task));
            }
        }
        for task in in_line.into_iter().rev() {
            if let Some(failed) = failed_before(view, task, *revision)? {
                return Ok(failed);
            }
        }
        Ok(String::new())
    })
}

/// The oldest task of a queue that is not settled, with its revision: whoever stands behind it
/// waits for what it waits for.
fn oldest(view: &View, queue: QueueId) -> Result<Option<(i64, TaskId)>, Stop> {
    Ok(view.instances.first(&queue, 1)?.next().map(|(key, ())| *key))
}

/// A failed task of a revision below that a task waits for.
fn failed_before(view: &View, task: TaskId, below: i64) -> Result<Option<String>, Stop> {
    for (target, _) in view.blockers.first(&task, BLOCKERS_MAX)?.take(BLOCKERS_MAX) {
        let Target::Task(id) = target else { continue };
        if view.tasks.get(id)?.is_none_or(|row| row.state != State::Failed) {
            continue;
        }
        let Some(body) = view.bodies.get(id)? else { continue };
        let revision = view.items.get(&body.item)?.and_then(|item| item.ordinal);
        let step = view.queues.get(&body.queue)?.map(|queue| &queue.step);
        if let (Some(revision), Some(step)) = (revision.filter(|n| *n < below), step) {
            return Ok(Some(format!("{step}@{revision}")));
        }
    }
    Ok(None)
}

/// The queues of a step of that name, in whichever file of the archive it stands or stood.
fn queues(view: &View, home: CollectionId, step: &Name) -> Vec<QueueId> {
    let start = (home, Name::trusted(""));
    let flows = view.flow_names.iter_from(&start).take_while(|((c, _), _)| *c == home);
    let queue = |flow| view.queue_names.get(&(flow, step.clone())).ok().flatten().copied();
    flows.filter_map(|(_, flow)| queue(*flow)).collect()
}
