//! Holds.

use armarius_core::address::ItemAddress;
use armarius_core::command::{Command, HoldOn};
use armarius_core::ids::{BatchId, HoldId, TaskId};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows::{self, Scope};
use armarius_core::text::Name;
use armarius_core::view::{Stop, View};
use armarius_wire::v1::hold::{Hold, IsSet, On, Set};
use armarius_wire::v1::{Page, time};
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Json, json, number};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, address_of, home_of};
use crate::problem::{Answer, Fault};

/// `POST /api/v1/holds`
pub(crate) async fn set(State(app): State<App>, caller: Caller, Json(set): Json<Set>) -> Answer {
    let on = read(&set.on)?;
    permit(&app, &caller, &on).await?;
    let until = set.until.as_deref().map(super::moment).transpose()?;
    let command = Command::Hold { on, reason: set.reason.as_str().into(), until };
    match app.ask(&caller, command).await? {
        Reply::Hold(HoldId(hold)) => Ok(json(StatusCode::CREATED, &IsSet { hold })),
        other => Err(super::strange(&other)),
    }
}

fn read(on: &On) -> Result<HoldOn, Refusal> {
    let On { collection, flow, step, batch, item, task } = on;
    let name = |text: &str| Name::new(text);
    Ok(match (collection, flow, step, batch, item, task) {
        (Some(c), None, None, None, None, None) => HoldOn::Collection(name(c)?),
        (Some(c), Some(f), None, None, None, None) => HoldOn::Flow(name(c)?, name(f)?),
        (Some(c), Some(f), Some(s), None, None, None) => HoldOn::Step(name(c)?, name(f)?, name(s)?),
        (None, None, None, Some(b), None, None) => HoldOn::Batch(BatchId(*b)),
        (None, None, None, None, Some(i), None) => HoldOn::Item(ItemAddress::parse(i)?),
        (None, None, None, None, None, Some(t)) => HoldOn::Task(TaskId(*t)),
        _ => {
            return Err(Refusal::new(Code::OutOfRange, "a hold is on one thing").hint(
                "give collection, collection + flow, collection + flow + step, batch, item or task",
            ));
        }
    })
}

pub(crate) async fn permit(app: &App, caller: &Caller, on: &HoldOn) -> Result<(), Fault> {
    match on {
        HoldOn::Collection(name) | HoldOn::Flow(name, _) | HoldOn::Step(name, _, _) => {
            within(caller, name)
        }
        HoldOn::Item(item) => within(caller, &item.collection),
        HoldOn::Batch(batch) => super::batch::visible(app, caller, *batch).await,
        HoldOn::Task(task) => super::task::visible(app, caller, *task).await,
    }
}

/// `DELETE /api/v1/holds/{hold}`
pub(crate) async fn release(
    State(app): State<App>,
    caller: Caller,
    Path(hold): Path<String>,
) -> Answer {
    release_for(&app, &caller, HoldId(number("hold", &hold)?)).await?;
    Ok(super::done())
}

/// Releases a hold the caller may see.
pub(crate) async fn release_for(app: &App, caller: &Caller, hold: HoldId) -> Result<(), Fault> {
    if caller.scope.is_some() {
        let asking = caller.clone();
        let seen = app.look(move |look| visible_holds(look, &asking)).await?;
        if !seen.iter().any(|h| h.hold == hold.0) {
            let why = format!("there is no hold {hold}");
            return Err(Refusal::new(Code::NoSuchHold, why).into());
        }
    }
    app.ask(caller, Command::Release { hold }).await?;
    Ok(())
}

/// `GET /api/v1/holds`
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Answer {
    let entries = app.look(move |look| visible_holds(look, &caller)).await?;
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}

pub(crate) fn visible_holds(
    look: &mut Look<'_>,
    caller: &Caller,
) -> Result<Vec<Hold>, crate::look::Lost> {
    look.ask(|view| {
        let mut shown = Vec::new();
        for (_, hold) in view.holds.iter() {
            let (home, on) = place(view, hold.scope)?;
            if home.is_some_and(|home| caller.may(&home)) {
                shown.push(show(hold, on));
            }
        }
        Ok(shown)
    })
}

fn show(hold: &rows::Hold, on: On) -> Hold {
    Hold {
        hold: hold.id.0,
        on,
        reason: hold.reason.to_string(),
        owner: hold.owner.to_string(),
        since: time::text(hold.since),
        until: hold.until.map(time::text),
    }
}

/// The collection of what is held, and what is held in people's words.
fn place(view: &View, scope: Scope) -> Result<(Option<Name>, On), Stop> {
    let named = |id| -> Result<Option<Name>, Stop> {
        Ok(view.collections.get(&id)?.map(|c| c.name.clone()))
    };
    let text = |name: &Option<Name>| name.as_ref().map(Name::to_string);
    let mut on = On::default();
    let home = match scope {
        Scope::Collection(id) => named(id)?,
        Scope::Flow(id) => {
            let Some(flow) = view.flows.get(&id)? else { return Ok((None, on)) };
            on.flow = Some(flow.name.to_string());
            named(flow.collection)?
        }
        Scope::Step(id) => {
            let Some(queue) = view.queues.get(&id)? else { return Ok((None, on)) };
            on.step = Some(queue.step.to_string());
            on.flow = view.flows.get(&queue.flow)?.map(|flow| flow.name.to_string());
            named(queue.collection)?
        }
        Scope::Batch(id) => {
            on.batch = Some(id.0);
            let Some(batch) = view.batches.get(&id)? else { return Ok((None, on)) };
            return Ok((named(batch.collection)?, on));
        }
        Scope::Item(id) => {
            let at = address_of(view, id)?;
            on.item = at.as_ref().map(ItemAddress::to_string);
            return Ok((at.map(|at| at.collection), on));
        }
        Scope::Task(id) => {
            on.task = Some(id.0);
            let Some(body) = view.bodies.get(&id)? else { return Ok((None, on)) };
            return Ok((home_of(view, body.queue)?, on));
        }
    };
    on.collection = text(&home);
    Ok((home, on))
}
