//! Events.

use armarius_core::address::ItemAddress;
use armarius_core::command::Command;
use armarius_core::event::{self, Outcome};
use armarius_core::reply::Reply;
use armarius_core::text::{Name, Text};
use armarius_engine::Request;
use armarius_wire::v1::event::{Add, Added, Event, Outcome as WireOutcome};
use armarius_wire::v1::{Page, Problem, raw_or_text, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::claim::hex;
use crate::app::App;
use crate::body::{Bulk, Params, json};
use crate::identity::within;
use crate::keys::Caller;
use crate::problem::{Answer, Fault};

/// `POST /api/v1/events`
pub(crate) async fn add(State(app): State<App>, caller: Caller, Bulk(events): Bulk<Add>) -> Answer {
    let request = |event: Add| {
        let idem = event.id.as_deref().map(Text::from);
        Ok(Request { actor: caller.actor.clone(), idem, command: read(&caller, &event)? })
    };
    let requests = events.into_iter().map(request).collect();
    let refused = |problem: Problem| Added { problem: Some(problem), ..Added::default() };
    let replies = super::each(&app, requests, |answer| match answer {
        Ok(Reply::Event { n, repeated, .. }) => Added { n: Some(n), repeated, problem: None },
        Ok(other) => refused(*super::strange(&other).0),
        Err(problem) => refused(problem),
    });
    Ok(json(StatusCode::OK, &replies.await))
}

fn read(caller: &Caller, event: &Add) -> Result<Command, Fault> {
    let item = ItemAddress::parse(&event.item)?;
    within(caller, &item.collection)?;
    let outcome = match event.outcome {
        WireOutcome::Success => Outcome::Success,
        WireOutcome::Failure => Outcome::Failure,
    };
    let detail = event.detail.as_ref().map(|d| Text::from(d.get()));
    Ok(Command::AddEvent { item, name: Name::new(&event.name)?, outcome, detail })
}

/// Whose events, and from where on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    item: String,
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/events?item=…`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let at = ItemAddress::parse(&wanted.item)?;
    let max = super::page(wanted.max);
    let after = wanted.cursor.unwrap_or_default();
    let look = move |look: &mut crate::look::Look<'_>| {
        let item = look.item_at(&caller, &at)?;
        Ok(look.reader.events(item.id, after, max)?)
    };
    let events: Vec<event::Event> = app.look(look).await?;
    let next = events.last().filter(|_| events.len() == max).map(|e| e.n.to_string());
    let entries: Vec<Event> = events.iter().map(show).collect();
    Ok(json(StatusCode::OK, &Page { entries, next }))
}

fn show(event: &event::Event) -> Event {
    Event {
        n: event.n,
        name: event.name.to_string(),
        at: time::text(event.at),
        actor: event.actor.to_string(),
        task: event.task.map(|task| task.0),
        to: event.to.map(|state| state.as_str().to_owned()),
        token: event.token.map(|token| token.to_string()),
        outcome: event.outcome.map(|outcome| outcome.as_str().to_owned()),
        detail: event.detail.as_deref().and_then(raw_or_text),
        hash: hex(&event.hash),
    }
}
