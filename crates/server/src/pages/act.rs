//! What people do on pages: the same commands as the API, after a question.

use armarius_core::address::ItemAddress;
use armarius_core::command::{Command, HoldOn};
use armarius_core::ids::{BatchId, HoldId, TaskId};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::text::Name;
use armarius_wire::client::segment;
use armarius_wire::v1::task::Task;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse as _;
use maud::{Markup, html};
use serde::Deserialize;

use super::parts::action;
use crate::api;
use crate::app::App;
use crate::body::Form;
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::{Answer, Fault};

/// What may be done to a task in its state.
pub(super) fn task_forms(task: &Task) -> Markup {
    let failed = matches!(&*task.state, "failed" | "cancelled");
    let open = matches!(&*task.state, "waiting" | "held" | "ready" | "leased");
    let one = |verb: &str, button: &str, inner: &Markup| {
        html! { form method="post" action="/task/act" {
            input type="hidden" name="id" value=(task.task);
            input type="hidden" name="verb" value=(verb);
            (inner)
            button.main type="submit" { (button) }
        } }
    };
    let reason = html! { label { "Reason" input name="reason" maxlength="500"; } };
    let priority = html! { label { "Priority" input type="number" name="priority" required
    min="-1000000" max="1000000" value=(task.priority); } };
    html! {
        @if failed { (action("Retry", "It gets another attempt; what depends on it waits for that.",
            &one("retry", "Retry this task", &html! {}))) }
        @if open || task.state == "failed" {
            (action("Skip", "It counts as unnecessary: what depends on it goes on.",
            &one("skip", "Skip this task", &reason))) }
        @if open { (action("Cancel", "It ends now; a worker that has it is told to stop. What \
            depends on it stays blocked.", &one("cancel", "Cancel this task", &reason))) }
        @if open { (action("Reprioritise", "Higher goes first.",
            &one("priority", "Change", &priority))) }
        @if open { (hold_form("Hold this task", "A claim that reaches it sets it aside.",
            &[("task", &task.task.to_string())])) }
    }
}

/// A form that sets a hold.
pub(super) fn hold_form(name: &str, about: &str, on: &[(&str, &str)]) -> Markup {
    let form = html! { form method="post" action="/hold/set" {
        @for (field, value) in on { input type="hidden" name=(field) value=(value); }
        label { "Reason" input name="reason" required maxlength="500"; }
        button.main type="submit" { (name) }
    } };
    action(name, about, &form)
}

/// A form that changes an item's priority.
pub(super) fn item_form(address: &str, priority: i32) -> Markup {
    html! { form method="post" action="/item/act" {
        input type="hidden" name="at" value=(address);
        label { "Priority" input type="number" name="priority" required
            min="-1000000" max="1000000" value=(priority); }
        button.main type="submit" { "Change" }
    } }
}

/// A form with one button about a batch.
pub(super) fn batch_form(batch: i64, verb: &str, button: &str) -> Markup {
    html! { form method="post" action="/batch/act" {
        input type="hidden" name="id" value=(batch);
        input type="hidden" name="verb" value=(verb);
        button.main type="submit" { (button) }
    } }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskAct {
    id: i64,
    verb: String,
    #[serde(default)]
    reason: String,
    priority: Option<i32>,
}

/// `POST /task/act`
pub(super) async fn task(
    State(app): State<App>,
    caller: Caller,
    Form(act): Form<TaskAct>,
) -> Answer {
    let (task, reason) = (TaskId(act.id), act.reason.as_str().into());
    let command = match (&*act.verb, act.priority) {
        ("retry", _) => Command::Retry { task },
        ("skip", _) => Command::Skip { task, reason },
        ("cancel", _) => Command::Cancel { task, reason },
        ("priority", Some(priority)) => Command::Prioritise { task, priority },
        _ => return Err(strange(&act.verb)),
    };
    api::task::visible(&app, &caller, task).await?;
    app.ask(&caller, command).await?;
    Ok(back(&format!("/task?id={}", act.id)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemAct {
    at: String,
    priority: i32,
}

/// `POST /item/act`
pub(super) async fn item(
    State(app): State<App>,
    caller: Caller,
    Form(act): Form<ItemAct>,
) -> Answer {
    let item = ItemAddress::parse(&act.at)?;
    within(&caller, &item.collection)?;
    let priority = act.priority;
    app.ask(&caller, Command::PrioritiseItem { item, priority }).await?;
    Ok(back(&format!("/item?at={}", segment(&act.at))))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BatchAct {
    id: i64,
    verb: String,
}

/// `POST /batch/act`
pub(super) async fn batch(
    State(app): State<App>,
    caller: Caller,
    Form(act): Form<BatchAct>,
) -> Answer {
    let batch = BatchId(act.id);
    let command = match &*act.verb {
        "cancel" => Command::CancelBatch { batch },
        "retry" => Command::RetryBatch { batch },
        "seal" => Command::SealBatch { batch },
        _ => return Err(strange(&act.verb)),
    };
    api::batch::visible(&app, &caller, batch).await?;
    app.ask(&caller, command).await?;
    Ok(back(&format!("/batch?id={}", act.id)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Brake {
    reason: String,
    collection: Option<String>,
    flow: Option<String>,
    step: Option<String>,
    item: Option<String>,
    task: Option<i64>,
    batch: Option<i64>,
}

/// `POST /hold/set`
pub(super) async fn hold(
    State(app): State<App>,
    caller: Caller,
    Form(brake): Form<Brake>,
) -> Answer {
    let name = |text: &str| Name::new(text);
    let none = |fields: &[bool]| fields.iter().all(|given| !given);
    let Brake { collection, flow, step, item, task, batch, .. } = &brake;
    let others = [item.is_some(), task.is_some(), batch.is_some()];
    let (on, to) = match (collection, flow, step) {
        (Some(c), None, None) if none(&others) => {
            (HoldOn::Collection(name(c)?), format!("/collection?name={}", segment(c)))
        }
        (Some(c), Some(f), None) if none(&others) => (
            HoldOn::Flow(name(c)?, name(f)?),
            format!("/flow?collection={}&name={}", segment(c), segment(f)),
        ),
        (Some(c), Some(f), Some(s)) if none(&others) => (
            HoldOn::Step(name(c)?, name(f)?, name(s)?),
            format!("/flow?collection={}&name={}", segment(c), segment(f)),
        ),
        (None, None, None) => match (item, task, batch) {
            (Some(at), None, None) => {
                (HoldOn::Item(ItemAddress::parse(at)?), format!("/item?at={}", segment(at)))
            }
            (None, Some(id), None) => (HoldOn::Task(TaskId(*id)), format!("/task?id={id}")),
            (None, None, Some(id)) => (HoldOn::Batch(BatchId(*id)), format!("/batch?id={id}")),
            _ => return Err(strange("hold")),
        },
        _ => return Err(strange("hold")),
    };
    api::hold::permit(&app, &caller, &on).await?;
    let reason = brake.reason.as_str().into();
    app.ask(&caller, Command::Hold { on, reason, until: None }).await?;
    Ok(back(&to))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Free {
    hold: i64,
}

/// `POST /hold/release`
pub(super) async fn release(
    State(app): State<App>,
    caller: Caller,
    Form(Free { hold }): Form<Free>,
) -> Answer {
    api::hold::release_for(&app, &caller, HoldId(hold)).await?;
    Ok(back("/holds"))
}

/// Done: the browser reads the page anew, so that going back sends nothing twice.
pub(super) fn back(to: &str) -> axum::response::Response {
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

pub(super) fn strange(verb: &str) -> Fault {
    Refusal::new(Code::OutOfRange, format!("{verb:?} cannot be done here"))
        .hint("use the page's own buttons")
        .into()
}
