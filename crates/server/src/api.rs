//! The routes, one file per noun: read the request, ask the engine, write the answer.

pub(crate) mod archive;
pub(crate) mod batch;
pub(crate) mod behind;
pub(crate) mod claim;
pub(crate) mod collection;
pub(crate) mod event;
pub(crate) mod find;
pub(crate) mod flow;
pub(crate) mod hold;
pub(crate) mod item;
pub(crate) mod key;
pub(crate) mod lease;
pub(crate) mod login;
pub(crate) mod outbox;
pub(crate) mod output;
pub(crate) mod planned;
pub(crate) mod report;
pub(crate) mod revision;
pub(crate) mod robot;
pub(crate) mod round;
pub(crate) mod runs;
pub(crate) mod savings;
pub(crate) mod schedule;
pub(crate) mod status;
pub(crate) mod stops;
pub(crate) mod task;
pub(crate) mod why;
pub(crate) mod worker;

use armarius_core::ids::Time;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_engine::clock::{Clock as _, SystemClock};
use armarius_engine::{Outcome, Request};
use armarius_wire::v1::{Problem, time};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use crate::app::App;
use crate::problem::{Fault, Own};

/// Entries of one page.
const PAGE_MAX: usize = 1_000;
/// Entries of one page when nothing is asked for.
const PAGE_DEFAULT: usize = 100;

/// How many entries a page has.
fn page(max: Option<usize>) -> usize {
    max.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX)
}

/// Done, and nothing more to say.
fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The engine answered a question nobody asked: a fault of ours.
fn strange(reply: &Reply) -> Fault {
    Fault::own(Own::Internal, format!("unexpected reply {reply:?}"), "report it")
}

/// A moment in a request.
fn moment(text: &str) -> Result<Time, Refusal> {
    time::parse(text).ok_or_else(|| {
        Refusal::new(Code::OutOfRange, format!("{text:?} is not a moment"))
            .hint("write it as 2026-11-15T10:00:00Z")
    })
}

/// The time of day, for showing how long something still takes.
pub(crate) fn now() -> Time {
    SystemClock::default().wall()
}

/// Asks for every element that could be read, and puts each answer in its place.
async fn each<T>(
    app: &App,
    elements: Vec<Result<Request, Fault>>,
    answer: impl Fn(Result<Reply, Problem>) -> T,
) -> Vec<T> {
    let (mut places, mut requests) = (Vec::with_capacity(elements.len()), Vec::new());
    for element in elements {
        match element {
            Ok(request) => {
                requests.push(request);
                places.push(None);
            }
            Err(fault) => places.push(Some(*fault.0)),
        }
    }
    let mut outcomes = app.ask_many(requests).await.into_iter();
    let mut next =
        || -> Outcome { outcomes.next().unwrap_or(Err(armarius_engine::EngineError::Stopped)) };
    let one = |refused: Option<Problem>| match refused {
        Some(problem) => answer(Err(problem)),
        None => answer(next().map_err(|e| *Fault::from(e).0)),
    };
    places.into_iter().map(one).collect()
}
