//! History: events and the commits that brought them.

use armarius_core::event::{Commit, Event, Head};
use armarius_core::ids::{ItemId, TaskId, Token};
use armarius_core::view::{CommitHead, View};

use crate::codes::{outcome_code, state_code};
use crate::refs;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::Desk;
use crate::sqlite::fault::{Answer, OrFault as _};

macro_rules! event_columns {
    () => {
        "select item, n, name, at, actor, task, \"to\", token, outcome, detail, detail_digest, hash
         from event"
    };
}

macro_rules! commit_columns {
    () => {
        "select n, at, prev, seal, refs from \"commit\""
    };
}

pub(in crate::sqlite) const EVENTS: &str = event_columns!();
pub(in crate::sqlite) const EVENTS_IN_ORDER: &str = concat!(event_columns!(), " order by item, n");
pub(in crate::sqlite) const EVENTS_AFTER: &str =
    concat!(event_columns!(), " where item = ?1 and n > ?2 order by n limit ?3");
pub(in crate::sqlite) const EVENT: &str = concat!(event_columns!(), " where item = ?1 and n = ?2");
pub(in crate::sqlite) const COMMITS_AFTER: &str =
    concat!(commit_columns!(), " where n > ?1 order by n limit ?2");
pub(in crate::sqlite) const COMMITS_BACKWARDS: &str =
    concat!(commit_columns!(), " order by n desc");
const HEAD: &str = "select n, hash from event where item = ?1 order by n desc limit 1";
const COMMIT_HEAD: &str = "select n, seal from \"commit\" order by n desc limit 1";
const PUT_COMMIT: &str =
    "insert into \"commit\" (n, at, prev, seal, refs) values (?1, ?2, ?3, ?4, ?5)";
// Never `or replace`: a number that is taken means that history would be changed.
const PUT_EVENT: &str = "insert into event (item, n, name, at, actor, task, \"to\", token, outcome,
                                            detail, detail_digest, hash)
                         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";

pub(in crate::sqlite) fn write(desk: &Desk, view: &View, commit: &Commit) -> Answer<()> {
    write_events(desk, view)?;
    write_commit(desk, commit)
}

pub(in crate::sqlite) fn write_events(desk: &Desk, view: &View) -> Answer<()> {
    let mut events: Vec<&Event> = view.events.iter().collect();
    events.sort_unstable_by_key(|e| (e.item, e.n));
    let mut put = desk.prepare(PUT_EVENT)?;
    for e in events {
        let (name, actor) = (desk.word(&e.name)?, desk.word(&e.actor)?);
        let (task, to) = (e.task.map(|t| t.0), e.to.map(state_code));
        let (token, outcome) = (e.token.map(|t| t.0), e.outcome.map(outcome_code));
        let (detail, digest) = (e.detail.as_deref(), e.detail_digest);
        let about = (e.item.0, e.n, name, e.at.0, actor, task, to, token, outcome);
        let (item, n, name, at, actor, task, to, token, outcome) = about;
        put.execute((item, n, name, at, actor, task, to, token, outcome, detail, digest, e.hash))
            .or_fault()?;
    }
    Ok(())
}

pub(in crate::sqlite) fn write_commit(desk: &Desk, commit: &Commit) -> Answer<()> {
    let refs = refs::to_bytes(&commit.events);
    desk.run(PUT_COMMIT, (commit.n, commit.at.0, commit.prev, commit.seal, refs))?;
    Ok(())
}

pub(in crate::sqlite) fn load_heads(desk: &Desk, keys: &[ItemId], view: &mut View) -> Answer<()> {
    desk.find(
        ("event", HEAD),
        keys,
        &mut view.heads,
        |k| Ok(Some((k.0,))),
        |cells| Ok(Head { n: cells.int(0)?, hash: cells.hash(1)? }),
    )
}

/// Number and seal of the newest commit.
pub(in crate::sqlite) fn commit_head(desk: &Desk) -> Answer<CommitHead> {
    let head = desk.first("commit", COMMIT_HEAD, (), |cells| {
        Ok(CommitHead { n: cells.int(0)?, seal: cells.hash(1)? })
    })?;
    Ok(head.unwrap_or_default())
}

pub(in crate::sqlite) fn event_of(cells: &Cells<'_>) -> Answer<Event> {
    Ok(Event {
        item: ItemId(cells.int(0)?),
        n: cells.int(1)?,
        name: cells.word(2)?,
        at: cells.time(3)?,
        actor: cells.word(4)?,
        task: cells.maybe_int(5)?.map(TaskId),
        to: cells.maybe_int(6)?.map(|_| cells.state(6)).transpose()?,
        token: cells.maybe_int(7)?.map(Token),
        outcome: cells.maybe_outcome(8)?,
        detail: cells.maybe_text(9)?,
        detail_digest: cells.maybe_hash(10)?,
        hash: cells.hash(11)?,
    })
}

pub(in crate::sqlite) fn commit_of(cells: &Cells<'_>) -> Answer<Commit> {
    let events = refs::from_bytes(cells.bytes(4)?);
    Ok(Commit {
        n: cells.int(0)?,
        at: cells.time(1)?,
        prev: cells.hash(2)?,
        seal: cells.hash(3)?,
        events: events.ok_or_else(|| cells.wrong(4, "is no list of events"))?,
    })
}
