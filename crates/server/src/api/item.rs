//! Items.

use armarius_core::address::ItemAddress;
use armarius_core::command::{Command, PutItem};
use armarius_core::ids::ItemId;
use armarius_core::reply::Reply;
use armarius_core::rows;
use armarius_core::text::{Name, Text};
use armarius_engine::Request;
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::event::Added;
use armarius_wire::v1::item::{Item, Placed, Priority, Put, PutOne, PutReply, Touch};
use armarius_wire::v1::{Page, raw, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Bulk, ItemPath, Json, Params, json, names};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::Look;
use crate::problem::Answer;

/// Tasks shown with one item.
const TASKS_SHOWN_MAX: usize = 50;

/// `PUT /api/v1/items/{item}`
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    ItemPath(item): ItemPath,
    Json(put): Json<Put>,
) -> Answer {
    within(&caller, &item.collection)?;
    let address = item.to_string();
    let command = Command::PutItem(PutItem {
        item,
        priority: put.priority,
        ordinal: put.ordinal,
        types: put.types.as_deref().map(names).transpose()?,
        attributes: put.attributes.as_ref().map(|a| Text::from(a.get())),
    });
    match app.ask(&caller, command).await? {
        Reply::Item { fresh, .. } => {
            let status = if fresh { StatusCode::CREATED } else { StatusCode::OK };
            Ok(json(status, &PutReply { item: address, fresh }))
        }
        other => Err(super::strange(&other)),
    }
}

/// `DELETE /api/v1/items/{item}`
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    ItemPath(item): ItemPath,
) -> Answer {
    within(&caller, &item.collection)?;
    app.ask(&caller, Command::DeleteItem { item }).await?;
    Ok(super::done())
}

/// `POST /api/v1/items`: many, each for itself.
pub(crate) async fn put_many(
    State(app): State<App>,
    caller: Caller,
    Bulk(items): Bulk<PutOne>,
) -> Answer {
    let request = |one: PutOne| {
        let item = ItemAddress::parse(&one.item)?;
        within(&caller, &item.collection)?;
        let command = Command::PutItem(PutItem {
            item,
            priority: one.priority,
            ordinal: one.ordinal,
            types: one.types.as_deref().map(names).transpose()?,
            attributes: one.attributes.as_ref().map(|a| Text::from(a.get())),
        });
        Ok(Request { actor: caller.actor.clone(), idem: None, command })
    };
    let requests = items.into_iter().map(request).collect();
    let refused = |problem| Placed { fresh: None, problem: Some(problem) };
    let replies = super::each(&app, requests, |answer| match answer {
        Ok(Reply::Item { fresh, .. }) => Placed { fresh: Some(fresh), problem: None },
        Ok(other) => refused(*super::strange(&other).0),
        Err(problem) => refused(problem),
    });
    Ok(json(StatusCode::OK, &replies.await))
}

/// `POST /api/v1/items/touch`
pub(crate) async fn touch(
    State(app): State<App>,
    caller: Caller,
    Json(touch): Json<Touch>,
) -> Answer {
    let item = ItemAddress::parse(&touch.item)?;
    within(&caller, &item.collection)?;
    let detail = touch.detail.as_ref().map(|d| Text::from(d.get()));
    match app.ask(&caller, Command::TouchItem { item, detail }).await? {
        Reply::Event { n, repeated, .. } => {
            Ok(json(StatusCode::OK, &Added { n: Some(n), repeated, problem: None }))
        }
        other => Err(super::strange(&other)),
    }
}

/// `POST /api/v1/items/priority`
pub(crate) async fn priority(
    State(app): State<App>,
    caller: Caller,
    Json(wanted): Json<Priority>,
) -> Answer {
    let item = ItemAddress::parse(&wanted.item)?;
    within(&caller, &item.collection)?;
    let priority = wanted.priority;
    app.ask(&caller, Command::PrioritiseItem { item, priority }).await?;
    Ok(super::done())
}

/// `GET /api/v1/items/{item}`
pub(crate) async fn show(State(app): State<App>, caller: Caller, ItemPath(at): ItemPath) -> Answer {
    let look = move |look: &mut Look<'_>| {
        let row = look.item_at(&caller, &at)?;
        let filter =
            TaskFilter { item: Some(row.id), max: TASKS_SHOWN_MAX, ..TaskFilter::default() };
        let tasks = super::task::read(look, &filter)?;
        Ok(Item { tasks, ..shown(&at.collection, &row) })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

/// Which items.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    collection: String,
    cursor: Option<i64>,
    max: Option<usize>,
}

/// `GET /api/v1/items?collection=…`
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(wanted): Params<Wanted>,
) -> Answer {
    let max = super::page(wanted.max);
    let name = Name::new(&wanted.collection)?;
    let after = ItemId(wanted.cursor.unwrap_or_default());
    let look = move |look: &mut Look<'_>| {
        let found = look.ask(|view| Ok(view.collection_names.get(&name)?.copied()))?;
        let Some(id) = found.filter(|_| caller.may(&name)) else {
            return Err(super::collection::unknown(&name).into());
        };
        let items = look.reader.items(id, after, max)?;
        let next = items.last().filter(|_| items.len() == max).map(|item| item.id.to_string());
        let entries = items.iter().map(|item| shown(&name, item)).collect();
        Ok(Page { entries, next })
    };
    Ok(json(StatusCode::OK, &app.look(look).await?))
}

pub(crate) fn shown(collection: &Name, item: &rows::Item) -> Item {
    let address = ItemAddress {
        collection: collection.clone(),
        kind: item.kind.clone(),
        key: item.key.clone(),
    };
    Item {
        item: address.to_string(),
        collection: collection.to_string(),
        kind: item.kind.to_string(),
        key: item.key.to_string(),
        priority: item.priority,
        first_seen_at: time::text(item.first_seen_at),
        ordinal: item.ordinal,
        types: item.types.iter().map(Name::to_string).collect(),
        attributes: raw(&item.attributes),
        changed_seq: item.changed_seq,
        deleted: item.deleted,
        tasks: Vec::new(),
    }
}
