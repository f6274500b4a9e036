//! Events.

use armarius_core::address::ItemAddress;
use armarius_core::command::{AddSaid, Command};
use armarius_core::event::{self, Outcome, Said};
use armarius_core::reply::Reply;
use armarius_core::text::{Name, Text};
use armarius_core::view::Need;
use armarius_engine::Request;
use armarius_wire::v1::event::{Add, Added, Event, Outcome as WireOutcome, Said as WireSaid, Work};
use armarius_wire::v1::{Page, Problem, raw, raw_or_text, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::claim::hex;
use crate::app::App;
use crate::body::{Bulk, Params, json};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, Lost};
use crate::problem::{Answer, Fault};

/// `POST /api/v1/events`
pub(crate) async fn add(State(app): State<App>, caller: Caller, Bulk(events): Bulk<Add>) -> Answer {
    let request = |event: Add| {
        // An imported event is known by its item and id, whoever brings it.
        let idem = event.id.as_deref().filter(|_| !event.imported).map(Text::from);
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
    let name = Name::new(&event.name)?;
    let text = |text: &Option<String>| text.as_deref().map(Text::from);
    let said = Said {
        at: text(&event.at),
        agent: text(&event.agent),
        id: text(&event.id).filter(|_| event.imported),
        imported: event.imported,
    };
    if said == Said::default() {
        return Ok(Command::AddEvent { item, name, outcome, detail });
    }
    Ok(Command::AddSaid(AddSaid { item, name, outcome, detail, said }))
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
        let events = look.reader.events(item.id, after, max)?;
        let next = events.last().filter(|_| events.len() == max).map(|e| e.n.to_string());
        let bodies = events.iter().filter_map(|e| e.task).map(Need::Body);
        look.load(&bodies.collect::<Vec<_>>())?;
        let mut entries = Vec::with_capacity(events.len());
        for event in &events {
            entries.push(Event { work: work(look, event)?, ..show(event) });
        }
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// The work an event came of.
fn work(look: &mut Look<'_>, event: &event::Event) -> Result<Option<Work>, Lost> {
    let Some(task) = event.task else { return Ok(None) };
    look.ask(|view| {
        let Some(body) = view.bodies.get(&task)? else { return Ok(None) };
        let (flow, queue) = (view.flows.get(&body.flow)?, view.queues.get(&body.queue)?);
        let version = view.versions.get(&body.version)?;
        let (Some(flow), Some(queue), Some(version)) = (flow, queue, version) else {
            return Ok(None);
        };
        Ok(Some(Work {
            flow: flow.name.to_string(),
            step: queue.step.to_string(),
            round: body.round,
            version: hex(&version.digest),
        }))
    })
}

fn show(event: &event::Event) -> Event {
    let said = event.detail.as_deref().and_then(Said::within);
    let detail = match &said {
        Some((_, detail)) => detail.as_deref().and_then(raw),
        None => event.detail.as_deref().and_then(raw_or_text),
    };
    let text = |text: Option<Text>| text.map(|text| text.to_string());
    let said = said.map(|(said, _)| WireSaid {
        at: text(said.at),
        agent: text(said.agent),
        id: text(said.id),
        imported: said.imported,
    });
    Event {
        n: event.n,
        name: event.name.to_string(),
        at: time::text(event.at),
        actor: event.actor.to_string(),
        task: event.task.map(|task| task.0),
        to: event.to.map(|state| state.as_str().to_owned()),
        token: event.token.map(|token| token.to_string()),
        outcome: event.outcome.map(|outcome| outcome.as_str().to_owned()),
        said,
        work: None,
        detail,
        hash: hex(&event.hash),
    }
}
