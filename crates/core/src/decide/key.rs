//! Keys: made, changed and revoked, each an event of the key's own item.
//!
//! Those items live in a collection of the house, [`HOUSE`], which the first key brings with it.
//! Nothing else may be put there, so that who may do what has one history and no flow touches it.
//! The secret never comes here: whoever makes a key keeps it and passes on its digest.

use super::desk::{Desk, Fact, KEY_CHANGED, KEY_MADE, KEY_REVOKED, Rule};
use crate::address::ItemAddress;
use crate::command::{ChangeKey, MakeKey};
use crate::limits::{KEY_COLLECTIONS_MAX, KEYS_MAX};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::Key;
use crate::text::Name;

/// The collection of the house.
pub const HOUSE: &str = "armarius";
/// The kind of the items that carry a key's events.
const KIND: &str = "key";

pub(super) fn make(desk: &mut Desk<'_>, make: &MakeKey) -> Rule<Reply> {
    check_scope(&make.collections)?;
    if desk.view.keys.get(&make.id)?.is_some() {
        return Err(Refusal::new(Code::AlreadyExists, format!("there is a key {}", make.id))
            .hint("make another id")
            .into());
    }
    let same = |key: &Key| key.revoked_at.is_none() && key.name == make.name;
    if desk.view.keys.iter().any(|(_, key)| same(key)) {
        let why = format!("there is a key named {} already", make.name);
        return Err(Refusal::new(Code::AlreadyExists, why)
            .hint("choose another name, or revoke that key first")
            .into());
    }
    make_room(desk)?;
    let house = Name::trusted(HOUSE);
    if desk.view.collection_names.get(&house)?.is_none() {
        super::collection::new_collection(desk, &house, &[])?;
    }
    let at =
        ItemAddress { collection: house, kind: Name::trusted(KIND), key: make.id.as_str().into() };
    // A key of that id may have been revoked so long ago that its row is gone.
    let item = match desk.find_item(&at)? {
        Some(item) => item,
        None => desk.new_item(&at, 0)?,
    };
    let now = desk.now();
    let key = Key {
        id: make.id.clone(),
        item,
        name: make.name.clone(),
        role: make.role,
        collections: make.collections.clone(),
        digest: make.digest,
        made_at: now,
        changed_at: now,
        revoked_at: None,
    };
    tell(desk, &key, &KEY_MADE)?;
    desk.view.keys.put(key.id.clone(), key);
    Ok(Reply::Ok)
}

pub(super) fn change(desk: &mut Desk<'_>, change: &ChangeKey) -> Rule<Reply> {
    let mut key = live(desk, &change.id)?;
    key.role = change.role.unwrap_or(key.role);
    if let Some(collections) = &change.collections {
        check_scope(collections)?;
        key.collections.clone_from(collections);
    }
    key.changed_at = desk.now();
    refuse_last_admin(desk, &key)?;
    tell(desk, &key, &KEY_CHANGED)?;
    desk.view.keys.put(key.id.clone(), key);
    Ok(Reply::Ok)
}

pub(super) fn revoke(desk: &mut Desk<'_>, id: &Name) -> Rule<Reply> {
    let mut key = live(desk, id)?;
    key.changed_at = desk.now();
    key.revoked_at = Some(desk.now());
    refuse_last_admin(desk, &key)?;
    tell(desk, &key, &KEY_REVOKED)?;
    desk.view.keys.put(key.id.clone(), key);
    Ok(Reply::Ok)
}

/// Refuses what people would put into the collection of the house.
pub(super) fn refuse_house(collection: &Name) -> Result<(), Refusal> {
    if collection.as_str() != HOUSE {
        return Ok(());
    }
    Err(Refusal::new(Code::BadName, format!("the collection {HOUSE} is the server's own"))
        .hint("use another collection"))
}

/// A key that was not revoked.
pub(super) fn live(desk: &Desk<'_>, id: &Name) -> Rule<Key> {
    match desk.view.keys.get(id)? {
        Some(key) if key.revoked_at.is_none() => Ok(key.clone()),
        Some(_) | None => Err(Refusal::new(Code::NoSuchKey, format!("there is no key {id}"))
            .hint("`armarius key list` shows those there are")
            .into()),
    }
}

/// Without a key for everything nobody could make another one.
fn refuse_last_admin(desk: &Desk<'_>, changed: &Key) -> Rule<()> {
    let others = desk.view.keys.iter().filter(|(id, _)| **id != changed.id);
    if changed.is_whole_admin() || others.map(|(_, key)| key).any(Key::is_whole_admin) {
        return Ok(());
    }
    Err(Refusal::new(Code::WrongState, "this is the last admin key for everything")
        .hint("make another admin key first")
        .into())
}

/// Rows of revoked keys stay until there are too many; their events stay for ever.
fn make_room(desk: &mut Desk<'_>) -> Rule<()> {
    if desk.view.keys.iter().count() < KEYS_MAX {
        return Ok(());
    }
    let revoked = desk.view.keys.iter().filter_map(|(id, k)| Some((k.revoked_at?, id.clone())));
    let Some((_, oldest)) = revoked.min() else {
        return Err(Refusal::new(Code::LimitReached, format!("there are {KEYS_MAX} keys"))
            .hint("revoke those that are not used")
            .into());
    };
    desk.view.keys.delete(oldest);
    Ok(())
}

fn check_scope(collections: &[Name]) -> Result<(), Refusal> {
    if collections.len() <= KEY_COLLECTIONS_MAX {
        return Ok(());
    }
    let why = format!("{} collections, more than {KEY_COLLECTIONS_MAX}", collections.len());
    Err(Refusal::new(Code::TooLarge, why).hint("make several keys, or one for all collections"))
}

/// What is said of a key is an event of its item: everything but the secret's digest, which is
/// nobody's business.
fn tell(desk: &mut Desk<'_>, key: &Key, name: &Name) -> Rule<()> {
    let collections: Vec<&str> = key.collections.iter().map(Name::as_str).collect();
    let detail = serde_json::json!({
        "name": key.name.as_str(), "role": key.role.as_str(), "collections": collections,
    });
    let fact = Fact {
        name: Some(name.clone()),
        detail: Some(detail.to_string().into()),
        ..Fact::default()
    };
    desk.append(key.item, fact).map(|_| ())
}
