//! Events and commits, and the read-only side.

use armarius_core::event;
use armarius_core::ids::{BatchId, CollectionId, ItemId, QueueId, TaskId};
use armarius_core::rows::{Body, Task};
use armarius_core::task::State;
use armarius_core::view::{Need, View};
use armarius_engine::seam::{HistoryLimits, StoreError, TaskFilter};

use super::sample;
use super::trial::{Trial, must};

pub(super) fn exercise(trial: &mut Trial) {
    events_read_back(trial);
    readers_see_what_is_committed(trial);
    readers_filter_tasks(trial);
    readers_tell_histories(trial);
    readers_list(trial);
}

fn events_read_back(trial: &mut Trial) {
    let mut reader = trial.reader();
    let mut sealed = Vec::new();
    let mut written = Vec::new();
    for round in 0..3 {
        let events: Vec<_> =
            (1..=6).map(|i| sample::event(i % 2, round * 3 + (i + 1) / 2, i + round)).collect();
        trial.view.events.extend(events.iter().cloned());
        let head = trial.view.head;
        sealed.push(event::seal(head.n + 1, trial.now, head.seal, &events));
        written.extend(events);
        trial.commit();
    }
    for item in 0..2 {
        let wanted: Vec<_> = written.iter().filter(|e| e.item == ItemId(item)).cloned().collect();
        let found = must("events", reader.events(ItemId(item), 0, 100));
        assert_eq!(found, wanted, "events of item {item}");
        let found = must("events", reader.events(ItemId(item), 4, 3));
        assert_eq!(Some(&found[..]), wanted.get(4..7), "events 5 to 7 of item {item}");
    }
    assert_eq!(must("commits", reader.commits(0, 10)), sealed, "commits");
    assert_eq!(Some(&must("commits", reader.commits(1, 1))[..]), sealed.get(1..2), "one commit");
    assert_eq!(must("commits", reader.commits(3, 10)), [], "commits after the newest");
    assert_eq!(trial.view.head.n, 3, "the head of a new view");
    assert_eq!(must("head", reader.head()), trial.view.head, "the head of a reader");
    let refs = [(ItemId(1), 3), (ItemId(0), 1), (ItemId(7), 1), (ItemId(1), 2)];
    let found = must("events at", reader.events_at(&refs));
    let found: Vec<_> = found.iter().map(|e| (e.item, e.n)).collect();
    assert_eq!(found, [refs[0], refs[1], refs[3]], "events by item and number");
}

fn readers_see_what_is_committed(trial: &mut Trial) {
    let mut reader = trial.reader();
    let mut view = View::new(0);
    let (id, task) = sample::task(50, 3);
    let collection = sample::collection(9, 1).1;
    trial.view.tasks.put(id, task.clone());
    trial.view.collections.put(collection.id, collection.clone());
    must("look", reader.look(&[Need::Task(id)], &mut view, true));
    assert_eq!(view.tasks.get(&id), Ok(None), "a task that is not yet committed");
    trial.commit();
    must("look", reader.look(&[Need::Task(id)], &mut view, true));
    assert_eq!(view.tasks.get(&id), Ok(Some(&task)), "a task that was committed");
    let found = view.collections.get(&collection.id);
    assert_eq!(found, Ok(Some(&collection)), "a whole table of a reader");
    assert_eq!(view.head, trial.view.head, "the head of a reader's view");
}

fn readers_filter_tasks(trial: &mut Trial) {
    let mut rows: Vec<(Body, Task)> = Vec::new();
    for n in 1..=28 {
        let (body, mut task) = (sample::body(n, n).1, sample::task(n, n).1);
        task.lease = (task.state == State::Leased).then(|| sample::lease_id(1));
        trial.view.bodies.put(body.id, body.clone());
        trial.view.tasks.put(task.id, task.clone());
        rows.push((body, task));
    }
    let mut lease = sample::lease(1, 3).1;
    let grip = lease.grips.first().copied();
    let held = rows.iter().filter(|(_, t)| t.state == State::Leased);
    lease.grips = held
        .filter_map(|(_, t)| {
            grip.map(|mut g| {
                g.task = t.id;
                g
            })
        })
        .collect();
    trial.view.leases.put(lease.id, lease);
    trial.commit();
    let mut reader = trial.reader();
    rows.reverse();
    let mut filters = vec![TaskFilter::default()];
    filters.extend(State::ALL.map(|s| TaskFilter { states: vec![s], ..TaskFilter::default() }));
    let states = vec![State::Failed, State::Done, State::Leased];
    filters.push(TaskFilter { states, queues: vec![QueueId(2)], ..TaskFilter::default() });
    filters.push(TaskFilter { queues: vec![QueueId(1), QueueId(9)], ..TaskFilter::default() });
    filters.push(TaskFilter { item: Some(ItemId(3)), ..TaskFilter::default() });
    filters.push(TaskFilter { batch: Some(BatchId(1)), ..TaskFilter::default() });
    let (batch, states) = (Some(BatchId(1)), vec![State::Held, State::Leased]);
    filters.push(TaskFilter { batch, states, ..TaskFilter::default() });
    let windows = filters.clone().into_iter();
    filters.extend(windows.map(|f| TaskFilter { above: Some(TaskId(9)), ..f }));
    for filter in filters {
        for (below, max) in [(None, 100), (Some(TaskId(15)), 100), (None, 3), (Some(TaskId(20)), 1)]
        {
            let filter = TaskFilter { below, max, ..filter.clone() };
            let wanted = rows.iter().filter(|(body, task)| fits(&filter, body, task));
            let wanted: Vec<_> = wanted.take(max).cloned().collect();
            let found = must("tasks", reader.tasks(&filter));
            assert_eq!(found, wanted, "tasks by {filter:?}");
        }
    }
}

/// Of what the tests before have left: items with tasks, with events, with both, with neither.
fn readers_tell_histories(trial: &Trial) {
    let mut reader = trial.reader();
    let items = [ItemId(3), ItemId(77), ItemId(1), ItemId(0)];
    for (tasks_max, events_max) in [(100, 100), (1, 2), (0, 1)] {
        let limits = HistoryLimits { tasks_max, events_max };
        let found = must("histories", reader.histories(&items, limits));
        assert_eq!(found.len(), items.len(), "one for each item");
        for (item, history) in items.iter().zip(found) {
            let filter = TaskFilter { item: Some(*item), max: tasks_max, ..TaskFilter::default() };
            assert_eq!(history.tasks, must("tasks", reader.tasks(&filter)), "of {item}");
            let events = must("events", reader.events(*item, 0, events_max));
            assert_eq!(history.events, events, "of {item}");
        }
    }
}

fn fits(filter: &TaskFilter, body: &Body, task: &Task) -> bool {
    (filter.queues.is_empty() || filter.queues.contains(&body.queue))
        && (filter.states.is_empty() || filter.states.contains(&task.state))
        && filter.item.is_none_or(|item| body.item == item)
        && filter.batch.is_none_or(|batch| body.batch == Some(batch))
        && filter.below.is_none_or(|below| body.id < below)
        && filter.above.is_none_or(|above| body.id > above)
}

fn readers_list(trial: &mut Trial) {
    for n in 1..=9 {
        let (item, batch) = (sample::item(n, n).1, sample::batch(n, n).1);
        trial.view.items.put(item.id, item);
        trial.view.batches.put(batch.id, batch);
    }
    trial.commit();
    let mut reader = trial.reader();
    let items = must("items", reader.items(CollectionId(1), ItemId(1), 3));
    let wanted: Vec<_> = [3, 5, 7].map(|n| sample::item(n, n).1).to_vec();
    assert_eq!(items, wanted, "items of a collection");
    let batches = must("batches", reader.batches(None, 2));
    assert_eq!(batches, [9, 8].map(|n| sample::batch(n, n).1), "the newest batches");
    let batches = must("batches", reader.batches(Some(BatchId(3)), 9));
    assert_eq!(batches, [2, 1].map(|n| sample::batch(n, n).1), "batches below");
}

/// A commit that does not stand right behind the newest one is refused, and nothing of it stays.
pub(super) fn refuses_what_does_not_follow(trial: &mut Trial) {
    let (id, batch) = sample::batch(1, 1);
    trial.view.batches.put(id, batch);
    trial.view.keep();
    let commit = event::seal(7, trial.now, [0; 32], &trial.view.events);
    let refused = trial.store.commit(&trial.view, &commit);
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "commit 7 after 0: {refused:?}");
    let found = must("batches", trial.reader().batches(None, 9));
    assert_eq!(found, [], "what a refused commit brought");
}
