//! Dry runs: a change is decided on what is committed, told, and thrown away.
//!
//! The route runs as always, up to where it would ask the engine. There the same rules decide on a
//! sheet of their own that is never committed, so that a refusal is the refusal it would be, and
//! the answer names the events that would be appended. Between the look and the real request the
//! world may move on: it tells what would happen now.

use std::sync::{Arc, Mutex, PoisonError};

use armarius_core::command::{Call, Command};
use armarius_core::decide;
use armarius_core::reply::Reply;
use armarius_core::rows::Counter;
use armarius_core::text::Text;
use armarius_core::view::Stop;
use armarius_engine::seam::StoreError;
use armarius_wire::v1::dry_run::{Change, DryRun, QUERY};
use axum::http::{StatusCode, Uri};
use axum::response::Response;

use crate::access::Rule;
use crate::api;
use crate::app::App;
use crate::body::json;
use crate::keys::Caller;
use crate::look::{Look, Lost, item_address, task_address};
use crate::problem::{Fault, Own};

/// Events shown.
const CHANGES_MAX: usize = 1_000;
/// How often one decision may ask for more rows.
const ROUNDS_MAX: usize = 1_000;

/// Where a dry run notes what would have happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rehearsal(Arc<Mutex<Option<DryRun>>>);

impl Rehearsal {
    /// Whether the request is one, and whether its route can be.
    pub(crate) fn asked_for(rule: &Rule, uri: &Uri) -> Result<Option<Self>, Fault> {
        let query = uri.query().unwrap_or_default();
        let Some(asked) = query.split('&').find(|part| part.split('=').next() == Some("dry_run"))
        else {
            return Ok(None);
        };
        let why = match asked {
            "dry_run=false" => return Ok(None),
            QUERY if rule.can_be_rehearsed() => return Ok(Some(Self::default())),
            QUERY => "this call cannot be made as a dry run; nothing was changed",
            _ => "dry_run is either true or false",
        };
        Err(Fault::own(Own::BadRequest, why, "leave dry_run out, or write ?dry_run=true"))
    }

    /// Decides on a sheet that is thrown away.
    pub(crate) async fn play(
        &self,
        app: &App,
        caller: &Caller,
        id: Option<&str>,
        command: Command,
    ) -> Result<Reply, Fault> {
        armarius_engine::check(&command)?;
        let idem = id.map(Text::from);
        let now = api::now();
        let mut call = Call { now, actor: caller.actor.clone(), chance: 0, idem, command };
        let (reply, told) = app
            .look(move |look| {
                let clock = look.ask(|view| Ok(view.counters.get(&Counter::Clock)?.copied()))?;
                call.now.0 = call.now.0.max(clock.unwrap_or(0));
                let reply = decided(look, &call)?;
                Ok((reply, tell(look)?))
            })
            .await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        Ok(reply)
    }

    /// What the caller gets instead of the route's answer, unless that is a refusal.
    pub(crate) fn answer(&self, response: Response) -> Response {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match told {
            Some(told) if response.status().is_success() => json(StatusCode::OK, &told),
            Some(_) | None => response,
        }
    }
}

fn decided(look: &mut Look<'_>, call: &Call) -> Result<Reply, Lost> {
    for _ in 0..ROUNDS_MAX {
        match decide(&mut look.view, call) {
            Ok(reply) => return Ok(reply),
            Err(Stop::Need(needs)) => look.load(&needs)?,
            Err(Stop::Refuse(refusal)) => return Err(Lost::Refused(*refusal)),
        }
    }
    Err(Lost::Store(StoreError::Unavailable("a dry run asked for too much".to_owned())))
}

/// What the sheet says that was not committed.
fn tell(look: &mut Look<'_>) -> Result<DryRun, Lost> {
    let events = look.view.events.clone();
    let rows = look.view.dirty_len();
    let errands = look.view.errands.changes().filter(|(_, _, errand)| errand.is_some()).count();
    let letters = look.view.letters.changes().filter(|(_, _, letter)| letter.is_some()).count();
    let changes = look.ask(|view| {
        let shown = events.iter().take(CHANGES_MAX).map(|event| {
            let task = match event.task {
                Some(task) => view.bodies.get(&task)?.map(|body| task_address(view, body)),
                None => None,
            };
            Ok(Change {
                item: item_address(view, event.item)?,
                event: event.name.to_string(),
                task: task.transpose()?,
                to: event.to.map(|state| state.as_str().to_owned()),
            })
        });
        shown.collect::<Result<Vec<_>, Stop>>()
    })?;
    let more = events.len().saturating_sub(CHANGES_MAX);
    Ok(DryRun { dry_run: true, changes, more, rows, errands, letters })
}
