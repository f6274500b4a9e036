//! Items and what is said about them.

use super::desk::{
    Desk, Fact, ITEM_DELETED, ITEM_PRIORITY, ITEM_PUT, ITEM_TOUCHED, Rule, check_object,
    check_priority, is_reserved,
};
use super::key::refuse_house;
use crate::address::ItemAddress;
use crate::command::PutItem;
use crate::event::{Outcome, SAID};
use crate::limits::{ATTRIBUTES_BYTES_MAX, DETAIL_BYTES_MAX, LABELS_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Follow, Item, Made};
use crate::text::{Name, Text, check};

pub(super) fn put(desk: &mut Desk<'_>, put: &PutItem) -> Rule<Reply> {
    check_put(put)?;
    refuse_house(&put.item.collection)?;
    let found = desk.find_item(&put.item)?;
    refuse_revision(desk, &put.item)?;
    let (id, fresh) = match found {
        Some(id) => (id, false),
        None => (desk.new_item(&put.item, put.priority.unwrap_or(0))?, true),
    };
    let old = desk.item(id)?.clone();
    let mut item = Item { deleted: false, ..old.clone() };
    item.priority = put.priority.unwrap_or(item.priority);
    item.ordinal = put.ordinal.or(item.ordinal);
    item.types = put.types.clone().unwrap_or(item.types);
    item.attributes = put.attributes.clone().unwrap_or(item.attributes);
    if !fresh && item == old {
        return Ok(Reply::Item { item: id, fresh });
    }
    if old.ordinal.is_some() && item.ordinal != old.ordinal {
        return Err(Refusal::new(Code::WrongState, "an item's ordinal never changes")
            .hint("put a new item instead")
            .into());
    }
    let detail = describe(&item);
    desk.view.items.put(id, item);
    let fact = Fact { name: Some(ITEM_PUT.clone()), detail: Some(detail), ..Fact::default() };
    let n = desk.append(id, fact)?;
    if fresh {
        let first = desk.item(id)?.clone();
        desk.view.items.put(id, Item { changed_seq: n, ..first });
    }
    if fresh || old.deleted || old.types != desk.item(id)?.types {
        desk.wake_robots(id, "", 0)?;
    }
    Ok(Reply::Item { item: id, fresh })
}

fn check_put(put: &PutItem) -> Result<(), Refusal> {
    if let Some(priority) = put.priority {
        check_priority(priority)?;
    }
    if let Some(attributes) = &put.attributes {
        check_object("attributes", attributes, ATTRIBUTES_BYTES_MAX)?;
    }
    match &put.types {
        Some(types) if types.len() > LABELS_MAX => {
            Err(Refusal::new(Code::TooLarge, format!("more than {LABELS_MAX} types"))
                .hint("use fewer types"))
        }
        Some(_) | None => Ok(()),
    }
}

/// What is said about an item, as an event's detail.
fn describe(item: &Item) -> Text {
    let types: Vec<&str> = item.types.iter().map(Name::as_str).collect();
    let mut detail = serde_json::json!({ "priority": item.priority, "types": types });
    if let Some(ordinal) = item.ordinal {
        detail["ordinal"] = ordinal.into();
    }
    if !item.attributes.is_empty() {
        detail["attributes"] = serde_json::from_str(&item.attributes).unwrap_or_default();
    }
    detail.to_string().into()
}

/// The content changed: marks based on what was before are stale now.
pub(super) fn touch(desk: &mut Desk<'_>, at: &ItemAddress, detail: Option<&Text>) -> Rule<Reply> {
    check("detail", detail.map_or("", |d| d), 0, DETAIL_BYTES_MAX)?;
    let mut item = living(desk, at)?.clone();
    let fact =
        Fact { name: Some(ITEM_TOUCHED.clone()), detail: detail.cloned(), ..Fact::default() };
    let n = desk.append(item.id, fact)?;
    item.changed_seq = n;
    let id = item.id;
    desk.view.items.put(id, item);
    desk.wake_robots(id, "", 0)?;
    Ok(Reply::Event { item: id, n, repeated: false })
}

pub(super) fn add_event(
    desk: &mut Desk<'_>,
    at: &ItemAddress,
    name: &Name,
    outcome: Outcome,
    detail: Option<&Text>,
) -> Rule<Reply> {
    check_event(name, detail)?;
    let request = format!("event {at} {name} {} {:?}", outcome.as_str(), detail);
    if let Some(Made::Event(item, n)) = desk.made_before(&at.collection, &request)? {
        return Ok(Reply::Event { item, n, repeated: true });
    }
    let (item, basis) = {
        let row = living(desk, at)?;
        (row.id, row.changed_seq)
    };
    let fact = Fact {
        name: Some(name.clone()),
        outcome: Some(outcome),
        detail: detail.cloned(),
        ..Fact::default()
    };
    let n = desk.append(item, fact)?;
    desk.mark(item, name, n, outcome, basis);
    desk.remember(&at.collection, &request, Made::Event(item, n))?;
    desk.wake_robots(item, name, 0)?;
    Ok(Reply::Event { item, n, repeated: false })
}

/// Refuses an event that only the rules themselves may write.
pub(super) fn check_event(name: &Name, detail: Option<&Text>) -> Result<(), Refusal> {
    check("detail", detail.map_or("", |d| d), 0, DETAIL_BYTES_MAX)?;
    if is_reserved(name) {
        return Err(Refusal::new(Code::BadName, format!("event name {name} is reserved"))
            .hint("choose a name that does not begin with task., item., revision. or archive."));
    }
    if detail.is_some_and(|d| d.starts_with(SAID)) {
        return Err(Refusal::new(Code::BadJson, "the detail's first key `said` is reserved")
            .hint("say when, by whom and under which id with the event, not in its detail"));
    }
    Ok(())
}

pub(super) fn prioritise(desk: &mut Desk<'_>, at: &ItemAddress, priority: i32) -> Rule<Reply> {
    check_priority(priority)?;
    let mut item = living(desk, at)?.clone();
    if item.priority == priority {
        return Ok(Reply::Ok);
    }
    let id = item.id;
    item.priority = priority;
    desk.view.items.put(id, item);
    let fact = Fact {
        name: Some(ITEM_PRIORITY.clone()),
        detail: Some(priority.to_string().into()),
        ..Fact::default()
    };
    desk.append(id, fact)?;
    desk.follows.push_back(Follow::Reprioritise(id, priority));
    Ok(Reply::Ok)
}

/// A tombstone: work is cancelled, history stays.
pub(super) fn delete(desk: &mut Desk<'_>, at: &ItemAddress) -> Rule<Reply> {
    refuse_revision(desk, at)?;
    let mut item = living(desk, at)?.clone();
    let id = item.id;
    item.deleted = true;
    desk.view.items.put(id, item);
    let fact = Fact { name: Some(ITEM_DELETED.clone()), ..Fact::default() };
    desk.append(id, fact)?;
    desk.follows.push_back(Follow::DeleteItem(id));
    Ok(Reply::Ok)
}

/// Revisions of an archive come from its repository, and stay.
pub(super) fn refuse_revision(desk: &Desk<'_>, at: &ItemAddress) -> Rule<()> {
    let home = desk.collection_named(&at.collection)?.id;
    if at.kind.as_str() != super::REVISION_KIND || desk.view.archives.get(&home)?.is_none() {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, format!("{at} comes from the archive's repository"))
        .hint("commit to the repository, or choose another kind")
        .into())
}

/// An item that is not deleted.
pub(super) fn living<'d>(desk: &'d Desk<'_>, at: &ItemAddress) -> Rule<&'d Item> {
    refuse_house(&at.collection)?;
    let item = desk.item_at(at)?;
    if item.deleted {
        return Err(Refusal::new(Code::WrongState, format!("item {at} is deleted"))
            .hint("put it again to bring it back; its history is still there")
            .into());
    }
    Ok(item)
}
