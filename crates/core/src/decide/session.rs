//! People who sign in: links that work once, and sessions.
//!
//! Both are items of the house, named by the digest of a secret that only a browser knows, so that
//! every server of a store finds them, who signed in when stands in the history, and nobody who
//! reads the store can sign in with what is there. A session acts with a key, which is looked at
//! whenever it is used: what the key is worth now is what the session is worth.

use super::desk::{
    Desk, Fact, LINK_MADE, LINK_USED, Rule, SESSION_ENDED, SESSION_OPENED, SESSION_USED,
};
use super::flow::hex;
use super::key::{HOUSE, live};
use crate::address::ItemAddress;
use crate::command::Opener;
use crate::event::{Hash, Outcome};
use crate::ids::{ItemId, Span, Time};
use crate::limits::{
    LINK_SECONDS_MAX, SESSION_IDLE_SECONDS_MAX, SESSION_NOTED_SECONDS, SESSION_SECONDS_MAX,
};
use crate::refusal::{Code, Refusal};
use crate::reply::Reply;
use crate::rows::{Item, ItemKey};
use crate::text::{Name, Text};
use crate::view::{Stop, View};

/// The kind of the items that are links.
const LINK: &str = "link";
/// The kind of the items that are sessions.
const SESSION: &str = "session";

/// Somebody who signed in and did not sign out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The key it acts with.
    pub key: Name,
    /// When it began.
    pub opened_at: Time,
    /// When its use was last noted.
    pub used_at: Time,
}

impl Session {
    /// The session of a secret with this digest, over or not; none after its end was said.
    pub fn find(view: &View, secret: &Hash) -> Result<Option<Self>, Stop> {
        let Some((item, key)) = pass(view, SESSION, secret)? else { return Ok(None) };
        let used = view.marks.get(&(item.id, SESSION_USED.clone()))?;
        let opened_at = item.first_seen_at;
        Ok(Some(Self { key, opened_at, used_at: used.map_or(opened_at, |mark| mark.at) }))
    }

    /// Whether it ended by itself.
    #[must_use]
    pub fn is_over(&self, now: Time) -> bool {
        now >= self.opened_at.plus(Span::seconds(SESSION_SECONDS_MAX))
            || now >= self.used_at.plus(Span::seconds(SESSION_IDLE_SECONDS_MAX))
    }

    /// Whether its use should be noted again: not at every request, which would be a commit each.
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        now >= self.used_at.plus(Span::seconds(SESSION_NOTED_SECONDS))
    }
}

/// Makes a link that opens one session for the holder of a key.
pub(super) fn offer(desk: &mut Desk<'_>, key: &Name, code: &Hash) -> Rule<Reply> {
    let key = live(desk, key)?.id;
    let link = begin(desk, LINK, code, &key)?;
    desk.append(link, Fact { name: Some(LINK_MADE.clone()), ..about(&key) })?;
    Ok(Reply::Ok)
}

/// Opens a session. A code is used up by it, in the same commit.
pub(super) fn open(desk: &mut Desk<'_>, by: &Opener, secret: &Hash) -> Rule<Reply> {
    let key = match by {
        Opener::Key(key) => live(desk, key)?,
        Opener::Code(code) => {
            let (link, key) = pass(desk.view, LINK, code)?.ok_or_else(nothing_opens)?;
            if desk.now() >= link.first_seen_at.plus(Span::seconds(LINK_SECONDS_MAX)) {
                return Err(nothing_opens());
            }
            let key = live(desk, &key)?;
            desk.actor = key.name.clone();
            let fact = Fact { name: Some(LINK_USED.clone()), ..Fact::default() };
            close(desk, link, fact)?;
            key
        }
    };
    desk.actor = key.name;
    let session = begin(desk, SESSION, secret, &key.id)?;
    desk.append(session, Fact { name: Some(SESSION_OPENED.clone()), ..about(&key.id) })?;
    Ok(Reply::Ok)
}

/// Notes that a session is in use, so that it does not end for want of it.
pub(super) fn note(desk: &mut Desk<'_>, secret: &Hash) -> Rule<Reply> {
    let (now, found) = (desk.now(), Session::find(desk.view, secret)?);
    let session = found.filter(|session| !session.is_over(now)).ok_or_else(no_session)?;
    if !session.is_due(now) {
        return Ok(Reply::Ok);
    }
    let (item, _) = pass(desk.view, SESSION, secret)?.ok_or_else(no_session)?;
    let outcome = Some(Outcome::Success);
    let fact = Fact { name: Some(SESSION_USED.clone()), outcome, ..Fact::default() };
    let n = desk.append(item.id, fact)?;
    desk.mark(item.id, &SESSION_USED, n, Outcome::Success, item.changed_seq);
    Ok(Reply::Ok)
}

/// Ends a session. One that is not there has ended.
pub(super) fn end(desk: &mut Desk<'_>, secret: &Hash) -> Rule<Reply> {
    if let Some((session, _)) = pass(desk.view, SESSION, secret)? {
        close(desk, session, Fact { name: Some(SESSION_ENDED.clone()), ..Fact::default() })?;
    }
    Ok(Reply::Ok)
}

/// A link or session that was not used up or ended, and the key it is for.
fn pass(view: &View, kind: &str, secret: &Hash) -> Result<Option<(Item, Name)>, Stop> {
    let at = address(kind, secret);
    let Some(collection) = view.collection_names.get(&at.collection)?.copied() else {
        return Ok(None);
    };
    let key = ItemKey { collection, kind: at.kind, key: at.key };
    let Some(id) = view.item_keys.get(&key)?.copied() else { return Ok(None) };
    let item = view.items.get(&id)?.filter(|item| !item.deleted);
    Ok(item.and_then(|item| Some((item.clone(), key_within(&item.attributes)?))))
}

fn begin(desk: &mut Desk<'_>, kind: &str, secret: &Hash, key: &Name) -> Rule<ItemId> {
    let at = address(kind, secret);
    if desk.find_item(&at)?.is_some() {
        return Err(Refusal::new(Code::AlreadyExists, "this secret was used before")
            .hint("make another one")
            .into());
    }
    let id = desk.new_item(&at, 0)?;
    let item = Item { attributes: for_key(key), ..desk.item(id)?.clone() };
    desk.view.items.put(id, item);
    Ok(id)
}

fn close(desk: &mut Desk<'_>, item: Item, last: Fact) -> Rule<()> {
    let id = item.id;
    desk.view.items.put(id, Item { deleted: true, ..item });
    desk.append(id, last).map(|_| ())
}

fn address(kind: &str, secret: &Hash) -> ItemAddress {
    let (collection, kind) = (Name::trusted(HOUSE), Name::trusted(kind));
    ItemAddress { collection, kind, key: hex(secret).into() }
}

fn about(key: &Name) -> Fact {
    Fact { detail: Some(for_key(key)), ..Fact::default() }
}

/// What is said of a link or session: whose it is.
fn for_key(key: &Name) -> Text {
    serde_json::json!({ "key": key.as_str() }).to_string().into()
}

/// Reads what [`for_key`] writes.
fn key_within(said: &str) -> Option<Name> {
    let said: serde_json::Value = serde_json::from_str(said).ok()?;
    Name::new(said.get("key")?.as_str()?).ok()
}

/// A code that was used, is too old or never was: all the same to whoever tries one.
fn nothing_opens() -> Stop {
    Refusal::new(Code::NoSuchKey, "this code opens nothing: it works once, and not for long")
        .hint("`armarius login` prints a fresh link")
        .into()
}

fn no_session() -> Stop {
    Refusal::new(Code::NoSuchKey, "this session is over").hint("sign in again").into()
}
