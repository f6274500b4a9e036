//! The next piece of the log, in the words of the feed.

use armarius_core::event::Event;
use armarius_core::ids::ItemId;
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_engine::seam::StoreError;
use armarius_wire::v1::feed::Entry;
use armarius_wire::v1::{raw_or_text, time};

use super::cursor::{Cursor, Place};
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

/// Reads on from a cursor, in one shard.
pub(super) fn read(
    look: &mut Look<'_>,
    wanted: &Wanted,
    from: &Cursor,
    shard: u16,
) -> Result<Read, Lost> {
    let (events, end, more) = events(look, from.place(shard))?;
    let refs: Vec<(ItemId, i64)> = events.iter().map(|(at, _)| *at).collect();
    let told = look.reader.events_at(&refs)?;
    if told.len() != refs.len() {
        let why = "a commit names events that are not there".to_owned();
        return Err(StoreError::Corrupt(why).into());
    }
    let mut needs: Vec<Need> = refs.iter().map(|(item, _)| Need::Item(*item)).collect();
    needs.sort_unstable();
    needs.dedup();
    look.load(&needs)?;
    let (mut text, mut next) = (String::new(), from.clone());
    for (event, (_, behind)) in told.iter().zip(events) {
        if text.len() >= CHUNK_BYTES {
            return Ok(Read { text, next, more: true });
        }
        next = from.with(shard, behind);
        if let Some(entry) = entry(look, wanted, event)? {
            let data = serde_json::to_string(&entry).unwrap_or_default();
            text.push_str(&format!("id: {next}\nevent: event\ndata: {data}\n\n"));
        }
    }
    Ok(Read { text, next: from.with(shard, end), more })
}

/// An event by item and number, and the place behind it.
type Found = ((ItemId, i64), Place);

/// The next events of a shard, the place behind them all, and whether there are more.
fn events(look: &mut Look<'_>, from: Place) -> Result<(Vec<Found>, Place, bool), Lost> {
    let commits = look.reader.commits(from.n, COMMITS_MAX)?;
    let (mut found, mut end) = (Vec::new(), from);
    for commit in &commits {
        let before = Place::at(commit.n - 1);
        let skip = if before.n == from.n { from.k } else { 0 };
        for (k, at) in commit.events.iter().enumerate().skip(skip) {
            if found.len() == EVENTS_MAX {
                return Ok((found, Place { k, ..before }, true));
            }
            let is_last = k + 1 == commit.events.len();
            let behind = if is_last { Place::at(commit.n) } else { Place { k: k + 1, ..before } };
            found.push((*at, behind));
        }
        end = Place::at(commit.n);
    }
    Ok((found, end, commits.len() == COMMITS_MAX))
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
