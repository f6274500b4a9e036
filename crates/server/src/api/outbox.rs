//! The outbox: destinations that letters wait for.

use armarius_wire::v1::outbox::Destination;
use armarius_wire::v1::{Page, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Params, json};
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::Answer;

/// The part of a letter's number that counts.
const NUMBER_MASK: i64 = (1 << 48) - 1;

/// How many.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    max: Option<usize>,
}

/// `GET /api/v1/outbox`: those that are tried first come first. Destinations belong to no
/// collection, so that a key for some collections sees none.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = super::page(wanted.max);
    let look = move |look: &mut Look<'_>| {
        if caller.scope.is_some() {
            return Ok(Vec::new());
        }
        look.ask(|view| {
            let due: Vec<_> = view.due_letters.first(&(), max)?.take(max).collect();
            let mut shown = Vec::with_capacity(due.len());
            for ((at, to), ()) in due {
                let Some(row) = view.destinations.get(to)? else { continue };
                let Some((n, letter)) = view.letters.first(to, 1)?.next() else { continue };
                shown.push(Destination {
                    to: to.to_string(),
                    next: *n,
                    // The upper bits of a letter's number say which shard wrote it.
                    waiting: row.next - (n & NUMBER_MASK) + 1,
                    tries: row.tries,
                    due_at: time::text(*at),
                    since: time::text(letter.at),
                });
            }
            Ok(shown)
        })
    };
    let entries: Vec<Destination> = app.look(look).await?;
    Ok(json(StatusCode::OK, &Page { entries, next: None }))
}
