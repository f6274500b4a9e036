//! The next piece of the log, in the words of the feed.

use armarius_core::event::Event;
use armarius_core::ids::ItemId;
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_engine::seam::StoreError;
use armarius_wire::v1::feed::Entry;
use armarius_wire::v1::{raw_or_text, time};

use super::cursor::Cursor;
use crate::keys::Caller;
use crate::look::{Look, Lost, address_of};

/// A piece ends when it has grown to this size.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;
/// Commits one piece looks at.
const COMMITS_MAX: usize = 100;
/// Events one piece looks at.
const EVENTS_MAX: usize = 500;
/// A longer detail is left out.
const DETAIL_BYTES_MAX: usize = 8 * 1024;

/// Whose events.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) caller: Caller,
    pub(super) collection: Option<Name>,
}

/// A piece of the feed.
pub(super) struct Read {
    /// Messages, ready to be sent.
    pub(super) text: String,
    /// Where the next piece begins.
    pub(super) next: Cursor,
    /// Whether there is more already.
    pub(super) more: bool,
}

/// Reads on from a cursor.
pub(super) fn read(look: &mut Look<'_>, wanted: &Wanted, from: Cursor) -> Result<Read, Lost> {
    let (places, end, more) = places(look, &from)?;
    let refs: Vec<(ItemId, i64)> = places.iter().map(|(at, _)| *at).collect();
    let events = look.reader.events_at(&refs)?;
    if events.len() != refs.len() {
        let why = "a commit names events that are not there".to_owned();
        return Err(StoreError::Corrupt(why).into());
    }
    let mut needs: Vec<Need> = refs.iter().map(|(item, _)| Need::Item(*item)).collect();
    needs.sort_unstable();
    needs.dedup();
    look.load(&needs)?;
    let (mut text, mut told) = (String::new(), from);
    for (event, (_, behind)) in events.iter().zip(places) {
        if text.len() >= CHUNK_BYTES {
            return Ok(Read { text, next: told, more: true });
        }
        if let Some(entry) = entry(look, wanted, event)? {
            let data = serde_json::to_string(&entry).unwrap_or_default();
            text.push_str(&format!("id: {behind}\nevent: event\ndata: {data}\n\n"));
        }
        told = behind;
    }
    Ok(Read { text, next: end, more })
}

/// An event by item and number, and the cursor behind it.
type Place = ((ItemId, i64), Cursor);

/// The next events, the cursor behind them all, and whether there are more.
fn places(look: &mut Look<'_>, from: &Cursor) -> Result<(Vec<Place>, Cursor, bool), Lost> {
    let commits = look.reader.commits(from.n, COMMITS_MAX)?;
    let (mut places, mut end) = (Vec::new(), from.clone());
    for commit in &commits {
        let before = Cursor::at(commit.n - 1);
        let skip = if before.n == from.n { from.k } else { 0 };
        for (k, at) in commit.events.iter().enumerate().skip(skip) {
            if places.len() == EVENTS_MAX {
                return Ok((places, Cursor { k, ..before }, true));
            }
            let is_last = k + 1 == commit.events.len();
            let behind = if is_last { Cursor::at(commit.n) } else { Cursor { k: k + 1, ..before } };
            places.push((*at, behind));
        }
        end = Cursor::at(commit.n);
    }
    Ok((places, end, commits.len() == COMMITS_MAX))
}

/// The event, if this client is to see it.
fn entry(look: &mut Look<'_>, wanted: &Wanted, event: &Event) -> Result<Option<Entry>, Lost> {
    let Some(at) = look.ask(|view| address_of(view, event.item))? else { return Ok(None) };
    let is_wanted = wanted.collection.as_ref().is_none_or(|name| *name == at.collection);
    if !is_wanted || !wanted.caller.may(&at.collection) {
        return Ok(None);
    }
    let detail = event.detail.as_deref().filter(|text| text.len() <= DETAIL_BYTES_MAX);
    Ok(Some(Entry {
        item: at.to_string(),
        n: event.n,
        name: event.name.to_string(),
        at: time::text(event.at),
        actor: event.actor.to_string(),
        task: event.task.map(|task| task.0),
        to: event.to.map(|state| state.as_str().to_owned()),
        outcome: event.outcome.map(|outcome| outcome.as_str().to_owned()),
        detail: detail.and_then(raw_or_text),
    }))
}
