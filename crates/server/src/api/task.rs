//! Tasks: reading them, and what an operator may do to one.

use armarius_core::address::ItemAddress;
use armarius_core::command::Command;
use armarius_core::ids::{BatchId, QueueId, TaskId, Time};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::rows;
use armarius_core::task::State as Stands;
use armarius_core::view::{Stop, View};
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::task::{Priority, Reason, Task};
use armarius_wire::v1::{Page, raw, time};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::lease::Nothing;
use crate::app::App;
use crate::body::{Json, Params, TaskRef, json, number, task_ref};
use crate::keys::Caller;
use crate::look::{Look, Lost, task_address};
use crate::problem::{Answer, Fault};

/// Which tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// States, separated by commas.
    state: Option<String>,
    collection: Option<String>,
    flow: Option<String>,
    step: Option<String>,
    item: Option<String>,
    batch: Option<i64>,
    /// One task by its address.
    address: Option<String>,
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/tasks`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let states = states(wanted.state.as_deref().unwrap_or_default())?;
    let item = wanted.item.as_deref().map(ItemAddress::parse).transpose()?;
    let address = wanted.address.as_deref().map(task_ref).transpose()?;
    let look = move |look: &mut Look<'_>| {
        if let Some(address) = &address {
            let id = look.task_at(&caller, address)?;
            return Ok(Page { entries: vec![one(look, id)?], next: None });
        }
        let Some(queues) = queues(&look.view, &caller, &wanted) else {
            return Ok(Page { entries: Vec::new(), next: None });
        };
        let item = match &item {
            Some(at) => Some(look.item_at(&caller, at)?.id),
            None => None,
        };
        let (max, below) = (super::page(wanted.max), wanted.cursor.map(TaskId));
        let batch = wanted.batch.map(BatchId);
        let entries = read(look, &TaskFilter { queues, states, item, batch, below, max })?;
        let next = entries.last().filter(|_| entries.len() == max).map(|t| t.task.to_string());
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
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
        let home = view.collections.iter().find(|(id, _)| **id == queue.collection);
        let flow = view.flows.iter().find(|(id, _)| **id == queue.flow);
        home.is_some_and(|(_, c)| caller.may(&c.name) && is(&wanted.collection, &c.name))
            && flow.is_some_and(|(_, f)| is(&wanted.flow, &f.name))
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
        one(look, id)
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
pub(super) async fn visible(app: &App, caller: &Caller, task: TaskId) -> Result<(), Fault> {
    if caller.scope.is_none() {
        return Ok(());
    }
    let caller = caller.clone();
    app.look(move |look| look.visible_task(&caller, task)).await
}

/// Tasks as people see them.
pub(super) fn read(look: &mut Look<'_>, filter: &TaskFilter) -> Result<Vec<Task>, Lost> {
    let found = look.reader.tasks(filter)?;
    look.load_items_of(&found)?;
    look.ask(|view| found.iter().map(|(body, task)| shown(view, body, task)).collect())
}

fn one(look: &mut Look<'_>, id: TaskId) -> Result<Task, Lost> {
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
    })
}
