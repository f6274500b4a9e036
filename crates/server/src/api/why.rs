//! Why something is not running.

use armarius_core::address::ItemAddress;
use armarius_core::ids::BatchId;
use armarius_core::why::{why_batch, why_item, why_task};
use armarius_wire::v1::why::Node;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Params, TaskRef, json, task_ref};
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::{Answer, Fault, Own};

/// About what.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    task: Option<String>,
    item: Option<String>,
    batch: Option<i64>,
}

enum About {
    Task(TaskRef),
    Item(ItemAddress),
    Batch(BatchId),
}

/// `GET /api/v1/why?task=…`, `?item=…` or `?batch=…`
pub(crate) async fn why(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let about = match (&wanted.task, &wanted.item, wanted.batch) {
        (Some(task), None, None) => About::Task(task_ref(task)?),
        (None, Some(item), None) => About::Item(ItemAddress::parse(item)?),
        (None, None, Some(batch)) => About::Batch(BatchId(batch)),
        _ => {
            return Err(Fault::own(
                Own::BadRequest,
                "why is asked about one thing",
                "give task, item or batch behind the ?",
            ));
        }
    };
    let now = super::now();
    let look = move |look: &mut Look<'_>| match &about {
        About::Task(task) => {
            let id = look.task_at(&caller, task)?;
            look.ask(|view| why_task(view, id, now))
        }
        About::Item(at) => {
            let id = look.item_at(&caller, at)?.id;
            look.ask(|view| why_item(view, id, now))
        }
        About::Batch(id) => {
            look.visible_batch(&caller, *id)?;
            look.ask(|view| why_batch(view, *id, now))
        }
    };
    let node: Node = app.look(look).await?.into();
    Ok(json(StatusCode::OK, &node))
}
