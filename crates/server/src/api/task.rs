//! Tasks: reading them, and what an operator may do to one.

use armarius_core::address::ItemAddress;
use armarius_core::command::Command;
use armarius_core::event::Event;
use armarius_core::ids::{BatchId, QueueId, TaskId, Time};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows::{self, Counter};
use armarius_core::task::State as Stands;
use armarius_core::view::{Stop, View};
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::task::{self, Priority, Reason, Task};
use armarius_wire::v1::{Page, raw, time};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::lease::Nothing;
use super::runs::{Run, Runs};
use crate::app::App;
use crate::body::{Json, Params, TaskRef, json, number, task_ref};
use crate::keys::Caller;
use crate::look::{Look, Lost, task_address};
use crate::problem::{Answer, Fault};

/// Events of an item that are looked through for those of a task.
const EVENTS_MAX: i64 = 1_000;
/// Task numbers one look goes through at a time.
const WINDOW: i64 = 10_000;
/// Windows one page goes through: a rare state among very many tasks takes several pages, and none
/// of them takes long.
const WINDOWS_MAX: usize = 2;
/// Looks one page takes where a time is asked for, which no index knows.
const SIEVES_MAX: usize = 5;

/// Which tasks.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// States, separated by commas.
    pub(crate) state: Option<String>,
    pub(crate) collection: Option<String>,
    pub(crate) flow: Option<String>,
    pub(crate) step: Option<String>,
    pub(crate) item: Option<String>,
    pub(crate) batch: Option<i64>,
    /// In their state since this moment or later.
    pub(crate) since: Option<String>,
    /// In their state since before this moment.
    pub(crate) before: Option<String>,
    /// One task by its address.
    pub(crate) address: Option<String>,
    pub(crate) cursor: Option<i64>,
    pub(crate) max: Option<usize>,
}

/// `GET /api/v1/tasks`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let page = app.look(move |look| page(look, &caller, &wanted)).await?;
    Ok(json(StatusCode::OK, &page))
}

/// One page of tasks, newest first.
pub(crate) fn page(
    look: &mut Look<'_>,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Page<Task>, Lost> {
    let states = states(wanted.state.as_deref().unwrap_or_default())?;
    if let Some(address) = &wanted.address {
        let id = look.task_at(caller, &task_ref(address)?)?;
        return Ok(Page { entries: vec![whole(look, id)?], next: None });
    }
    let Some(queues) = queues(&look.view, caller, wanted) else {
        return Ok(Page { entries: Vec::new(), next: None });
    };
    let item = match &wanted.item {
        Some(at) => Some(look.item_at(caller, &ItemAddress::parse(at)?)?.id),
        None => None,
    };
    let (max, below) = (super::page(wanted.max), wanted.cursor.map(TaskId));
    let batch = wanted.batch.map(BatchId);
    let filter = TaskFilter { queues, states, item, batch, below, above: None, max };
    let since = wanted.since.as_deref().map(super::moment).transpose()?;
    let before = wanted.before.as_deref().map(super::moment).transpose()?;
    let (found, next) = match (since, before) {
        (None, None) => windows(look, &filter)?,
        (since, before) => sieve(look, filter, |at| {
            since.is_none_or(|since| at >= since) && before.is_none_or(|before| at < before)
        })?,
    };
    let next = next.map(|TaskId(id)| id.to_string());
    Ok(Page { entries: show_all(look, &found)?, next })
}

type Found = Vec<(rows::Body, rows::Task)>;

/// Reads on until a page is full of tasks whose state began at a moment that fits.
fn sieve(
    look: &mut Look<'_>,
    mut filter: TaskFilter,
    fits: impl Fn(Time) -> bool,
) -> Result<(Found, Option<TaskId>), Lost> {
    let (max, mut kept) = (filter.max, Vec::new());
    filter.max = super::PAGE_MAX;
    for _ in 0..SIEVES_MAX {
        let (found, next) = windows(look, &filter)?;
        kept.extend(found.into_iter().filter(|(_, task)| fits(task.since)));
        if kept.len() > max {
            kept.truncate(max);
            let last = kept.last().map(|(body, _)| body.id);
            return Ok((kept, last));
        }
        if next.is_none() {
            return Ok((kept, None));
        }
        filter.below = next;
    }
    Ok((kept, filter.below))
}

/// Reads window by window, where no index leads straight to what is wanted. The counters tell when
/// everything has been found, or that there is nothing to find.
fn windows(look: &mut Look<'_>, filter: &TaskFilter) -> Result<(Found, Option<TaskId>), Lost> {
    let rare = |state: &Stands| !matches!(state, Stands::Ready | Stands::Done);
    let led =
        filter.queues.is_empty() && !filter.states.is_empty() && filter.states.iter().all(rare);
    let newest = look.ask(|view| Ok(view.counters.get(&Counter::Task)?.copied().unwrap_or(0)))?;
    let top = filter.below.map_or(newest + 1, |TaskId(id)| id.min(newest + 1));
    // Numbers of several shards do not follow one another.
    if led || filter.item.is_some() || filter.batch.is_some() || look.shards > 1 {
        let found = look.reader.tasks(filter)?;
        let next = found.last().filter(|_| found.len() == filter.max).map(|(body, _)| body.id);
        return Ok((found, next));
    }
    let expected = expected(&look.view, filter);
    let (mut found, mut top): (Found, i64) = (Vec::new(), top);
    for _ in 0..WINDOWS_MAX {
        let left = filter.max - found.len();
        let complete = i64::try_from(found.len()).is_ok_and(|n| n >= expected);
        if top <= 1 || complete {
            return Ok((found, None));
        }
        let (below, above) = (Some(TaskId(top)), Some(TaskId(top - 1 - WINDOW)));
        found.extend(look.reader.tasks(&TaskFilter {
            below,
            above,
            max: left,
            ..filter.clone()
        })?);
        if found.len() == filter.max {
            let last = found.last().map(|(body, _)| body.id);
            return Ok((found, last));
        }
        top = (top - WINDOW).max(0);
    }
    Ok((found, (top > 1).then_some(TaskId(top))))
}

/// How many tasks fit, at most: counted by queue and state, wherever the page begins.
fn expected(view: &View, filter: &TaskFilter) -> i64 {
    let is_wanted = |id: &QueueId| filter.queues.is_empty() || filter.queues.contains(id);
    let counts = view.queues.iter().filter(|(id, _)| is_wanted(id)).map(|(_, queue)| queue.counts);
    let of = |counts: [i64; 7]| -> i64 {
        let each = Stands::ALL.into_iter().zip(counts);
        let fits = |state: &Stands| filter.states.is_empty() || filter.states.contains(state);
        each.filter(|(state, _)| fits(state)).map(|(_, n)| n).sum()
    };
    counts.map(of).sum()
}

fn states(text: &str) -> Result<Vec<Stands>, Refusal> {
    let one = |word: &str| {
        let found = Stands::ALL.into_iter().find(|state| state.as_str() == word);
        found.ok_or_else(|| {
            let all: Vec<&str> = Stands::ALL.into_iter().map(Stands::as_str).collect();
            Refusal::new(Code::OutOfRange, format!("{word:?} is not a state"))
                .hint(format!("the states are {}", all.join(", ")))
        })
    };
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(one).collect()
}

/// The queues that are wanted and may be seen; none listed means all, `None` that there are none.
fn queues(view: &View, caller: &Caller, wanted: &Wanted) -> Option<Vec<QueueId>> {
    let free = wanted.collection.is_none() && wanted.flow.is_none() && wanted.step.is_none();
    if free && caller.scope.is_none() {
        return Some(Vec::new());
    }
    let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|w| w == name);
    let fits = |queue: &rows::Queue| {
        let home = view.collections.get(&queue.collection).ok().flatten();
        let flow = view.flows.get(&queue.flow).ok().flatten();
        home.is_some_and(|c| caller.may(&c.name) && is(&wanted.collection, &c.name))
            && flow.is_some_and(|f| is(&wanted.flow, &f.name))
            && is(&wanted.step, &queue.step)
    };
    let found: Vec<QueueId> =
        view.queues.iter().filter(|(_, queue)| fits(queue)).map(|(id, _)| *id).collect();
    (!found.is_empty()).then_some(found)
}

/// `GET /api/v1/tasks/{task}`
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
) -> Answer {
    let task = TaskRef::Number(number("task", &task)?);
    let look = move |look: &mut Look<'_>| {
        let id = look.task_at(&caller, &task)?;
        whole(look, id)
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// `POST /api/v1/tasks/{task}/retry`
pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
    Json(Nothing {}): Json<Nothing>,
) -> Answer {
    steer(&app, &caller, &task, |task| Command::Retry { task }).await
}

/// `POST /api/v1/tasks/{task}/skip`
pub(crate) async fn skip(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
    Json(Reason { reason }): Json<Reason>,
) -> Answer {
    steer(&app, &caller, &task, |task| Command::Skip { task, reason: reason.into() }).await
}

/// `POST /api/v1/tasks/{task}/cancel`
pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
    Json(Reason { reason }): Json<Reason>,
) -> Answer {
    steer(&app, &caller, &task, |task| Command::Cancel { task, reason: reason.into() }).await
}

/// `POST /api/v1/tasks/{task}/priority`
pub(crate) async fn priority(
    State(app): State<App>,
    caller: Caller,
    Path(task): Path<String>,
    Json(Priority { priority }): Json<Priority>,
) -> Answer {
    steer(&app, &caller, &task, |task| Command::Prioritise { task, priority }).await
}

async fn steer(
    app: &App,
    caller: &Caller,
    task: &str,
    command: impl FnOnce(TaskId) -> Command,
) -> Answer {
    let task = TaskId(number("task", task)?);
    visible(app, caller, task).await?;
    app.ask(caller, command(task)).await?;
    Ok(super::done())
}

/// Refuses a task outside of the key's collections. A key for all needs no look.
pub(crate) async fn visible(app: &App, caller: &Caller, task: TaskId) -> Result<(), Fault> {
    if caller.scope.is_none() {
        return Ok(());
    }
    let caller = caller.clone();
    app.look(move |look| look.visible_task(&caller, task)).await
}

/// Tasks as people see them.
pub(crate) fn read(look: &mut Look<'_>, filter: &TaskFilter) -> Result<Vec<Task>, Lost> {
    let found = look.reader.tasks(filter)?;
    show_all(look, &found)
}

fn show_all(look: &mut Look<'_>, found: &Found) -> Result<Vec<Task>, Lost> {
    look.load_items_of(found)?;
    look.ask(|view| found.iter().map(|(body, task)| shown(view, body, task)).collect())
}

/// What happened to a task, as far as the newest events of its item tell.
pub(crate) fn events(look: &mut Look<'_>, id: TaskId) -> Result<Vec<Event>, Lost> {
    let of = |view: &View| Ok(view.bodies.get(&id)?.map(|body| body.item).unwrap_or_default());
    let item = look.ask(of)?;
    let last = look.ask(|view| Ok(view.heads.get(&item)?.copied().unwrap_or_default()))?.n;
    let from = (last - EVENTS_MAX).max(0);
    let mut events = look.reader.events(item, from, usize::try_from(last - from).unwrap_or(0))?;
    events.retain(|event| event.task == Some(id));
    Ok(events)
}

/// A task with its last run.
fn whole(look: &mut Look<'_>, id: TaskId) -> Result<Task, Lost> {
    let run = last_run(&events(look, id)?, id);
    Ok(Task { run, ..one(look, id)? })
}

fn last_run(events: &[Event], id: TaskId) -> Option<task::Run> {
    let Run { started_at, ended_at, worker, exit_code, .. } = Runs::of(events).last(id);
    (!started_at.is_empty()).then_some(task::Run { worker, started_at, ended_at, exit_code })
}

pub(crate) fn one(look: &mut Look<'_>, id: TaskId) -> Result<Task, Lost> {
    look.ask(|view| {
        let (Some(body), Some(task)) = (view.bodies.get(&id)?, view.tasks.get(&id)?) else {
            let why = format!("there is no task {id}");
            return Err(Refusal::new(Code::NoSuchTask, why).into());
        };
        shown(view, body, task)
    })
}

fn shown(view: &View, body: &rows::Body, task: &rows::Task) -> Result<Task, Stop> {
    let lease = match task.lease {
        Some(lease) => view.leases.get(&lease)?,
        None => None,
    };
    let later = task.ready_at > Time::ZERO && task.state == Stands::Ready;
    Ok(Task {
        task: body.id.0,
        address: task_address(view, body)?,
        state: task.state.as_str().to_owned(),
        cause: task.cause.as_str().to_owned(),
        since: time::text(task.since),
        created_at: time::text(body.created_at),
        priority: task.priority,
        attempts: task.attempts,
        token: task.token.to_string(),
        ready_at: later.then(|| time::text(task.ready_at)),
        blockers: task.blockers,
        batch: body.batch.map(|batch| batch.0),
        payload: raw(&body.payload),
        worker: lease.map(|lease| lease.worker.to_string()),
        run: None,
    })
}
