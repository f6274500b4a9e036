//! Collections, and what concerns a whole shard.

use super::desk::{COLLECTION_PUT, Desk, EPOCH_RAISED, Fact, Rule};
use crate::address::ItemAddress;
use crate::ids::{CollectionId, ItemId};
use crate::limits::KEY_BYTES_MAX;
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Collection, Counter};
use crate::text::{Name, Text, check};

/// Most destinations one collection may tell.
const NOTIFY_MAX: usize = 16;

/// The kind of the items that carry a collection's own events.
pub(super) const KIND: &str = "collection";

pub(super) fn put(desk: &mut Desk<'_>, name: &Name, notify: &[Text]) -> Rule<Reply> {
    super::key::refuse_house(name)?;
    if notify.len() > NOTIFY_MAX {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{} destinations, more than {NOTIFY_MAX}", notify.len()),
        )
        .hint("tell one destination that tells the others")
        .into());
    }
    for to in notify {
        check("destination", to, 1, KEY_BYTES_MAX)?;
    }
    let known = desk.view.collection_names.get(name)?.copied();
    let id = match known {
        Some(id) => {
            let mut row = desk.collection(id)?.clone();
            if row.notify == notify {
                return Ok(Reply::Collection(id));
            }
            row.notify = notify.to_vec();
            desk.view.collections.put(id, row);
            id
        }
        None => new_collection(desk, name, notify)?,
    };
    let item = desk.collection(id)?.item;
    let detail = serde_json::json!({ "notify": notify.iter().map(|t| &**t).collect::<Vec<_>>() });
    let fact = Fact {
        name: Some(COLLECTION_PUT.clone()),
        detail: Some(detail.to_string().into()),
        ..Fact::default()
    };
    desk.append(item, fact)?;
    Ok(Reply::Collection(id))
}

pub(super) fn new_collection(
    desk: &mut Desk<'_>,
    name: &Name,
    notify: &[Text],
) -> Rule<CollectionId> {
    let id = CollectionId(desk.mint(Counter::Collection)?);
    let row = Collection {
        id,
        name: name.clone(),
        item: ItemId::default(),
        served: 0,
        notify: notify.to_vec(),
        robots: Vec::new(),
    };
    desk.view.collections.put(id, row.clone());
    desk.view.collection_names.put(name.clone(), id);
    let at = ItemAddress {
        collection: name.clone(),
        kind: Name::trusted(KIND),
        key: name.as_str().into(),
    };
    let item = desk.new_item(&at, 0)?;
    desk.view.collections.put(id, Collection { item, ..row });
    Ok(id)
}

/// Tokens granted from now on are higher than any that a worker may remember.
pub(super) fn raise_epoch(desk: &mut Desk<'_>) -> Rule<Reply> {
    let epoch = desk.count(Counter::Epoch)?.saturating_add(1);
    desk.view.counters.put(Counter::Epoch, epoch);
    let items: Vec<ItemId> = desk.view.collections.iter().map(|(_, c)| c.item).collect();
    for item in items {
        let fact = Fact {
            name: Some(EPOCH_RAISED.clone()),
            detail: Some(epoch.to_string().into()),
            ..Fact::default()
        };
        desk.append(item, fact)?;
    }
    Ok(Reply::Ok)
}
