//! Items.

use armarius_core::address::ItemAddress;
use armarius_core::command::{Command, PutItem, RewindFrom};
use armarius_core::ids::ItemId;
use armarius_core::limits::MARKS_MAX;
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;
use armarius_core::rows;
use armarius_core::text::{Name, Text};
use armarius_engine::Request;
use armarius_engine::seam::TaskFilter;
use armarius_wire::v1::event::Added;
use armarius_wire::v1::item::{
    Item, Mark, Placed, Priority, Put, PutOne, PutReply, Rewind, Rewound, Touch,
};
use armarius_wire::v1::{Page, raw, time};
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use crate::app::App;
use crate::body::{Bulk, ItemPath, Json, Params, json, names};
use crate::identity::within;
use crate::keys::Caller;
use crate::look::{Look, Lost};
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

/// `POST /api/v1/items/rewind`
pub(crate) async fn rewind(
    State(app): State<App>,
    caller: Caller,
    Json(wanted): Json<Rewind>,
) -> Answer {
    let item = ItemAddress::parse(&wanted.item)?;
    within(&caller, &item.collection)?;
    let from = match (wanted.from.as_deref(), wanted.from_number) {
        (Some(name), None) => RewindFrom::Event(Name::new(name)?),
        (None, Some(n)) => RewindFrom::Number(n),
        (None, None) => RewindFrom::FirstFailure,
        (Some(_), Some(_)) => {
            return Err(Refusal::new(Code::OutOfRange, "a rewind has one place to begin at")
                .hint("give `from` or `from_number`, or none of them")
                .into());
        }
    };
    let command = Command::Rewind { item, from, reason: wanted.reason.as_str().into() };
    match app.ask(&caller, command).await? {
        Reply::Rewound { n, marks } => {
            let hidden = marks.iter().map(Name::to_string).collect();
            Ok(json(StatusCode::OK, &Rewound { n, hidden }))
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
        let (newest, marks) = history_of(look, &row)?;
        Ok(Item { tasks, newest, marks, ..shown(&at.collection, &row) })
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

/// The number of an item's newest event, and the newest event of each name in order.
fn history_of(look: &mut Look<'_>, item: &rows::Item) -> Result<(Option<i64>, Vec<Mark>), Lost> {
    look.ask(|view| {
        let newest = view.heads.get(&item.id)?.map(|head| head.n);
        let names = view.item_marks.first(&item.id, MARKS_MAX)?;
        let names: Vec<Name> = names.take(MARKS_MAX).map(|(name, ())| name.clone()).collect();
        let mut marks = Vec::with_capacity(names.len());
        for name in names {
            let Some(mark) = view.marks.get(&(item.id, name.clone()))? else { continue };
            marks.push(Mark {
                name: name.to_string(),
                n: mark.n,
                outcome: mark.outcome.as_str().to_owned(),
                at: time::text(mark.at),
                current: mark.based_on >= item.changed_seq,
                hidden: mark.hidden,
                imported: mark.imported,
            });
        }
        marks.sort_by_key(|mark| mark.n);
        Ok((newest, marks))
    })
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
        newest: None,
        marks: Vec::new(),
        tasks: Vec::new(),
    }
}
