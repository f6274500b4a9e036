//! Archives.

use armarius_core::ids::{CollectionId, FlowId, TaskId};
use armarius_core::rows::{Archive, ArchiveKind, ArchiveState};
use armarius_core::view::View;
use rusqlite::types::Value;

use crate::codes::{numbers_text, position};
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const ALL: &str =
    "select collection, kind, place, branch, first, trusted, identity, youngest, noticed, planned,
            planned_id, awaiting_since, state, reason, since, barrier, flows, depth_max
     from archive";

const SQL: Sql = Sql {
    table: "archive",
    put: "insert or replace into archive
          (collection, kind, place, branch, first, trusted, identity, youngest, noticed, planned,
           planned_id, awaiting_since, state, reason, since, barrier, flows,
           depth_max)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                  ?18)",
    delete: "delete from archive where collection = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(&SQL, &view.archives, |k| Ok((k.0,)), |_, archive| Ok(values(archive)))
}

/// In the order of the columns.
fn values(a: &Archive) -> [Value; 18] {
    let int = Value::Integer;
    let text = |text: &str| Value::Text(text.to_owned());
    [
        int(a.collection.0),
        int(position(&ArchiveKind::ALL, &a.kind)),
        text(&a.place),
        text(&a.branch),
        int(a.first),
        int(i64::from(a.trusted)),
        text(&a.identity),
        int(a.youngest),
        int(a.noticed),
        int(a.planned),
        text(&a.planned_id),
        int(a.awaiting_since.0),
        int(position(&ArchiveState::ALL, &a.state)),
        text(&a.reason),
        int(a.since.0),
        Value::Text(numbers_text(a.barrier.iter().map(|task| task.0))),
        Value::Text(numbers_text(a.flows.iter().map(|flow| flow.0))),
        int(i64::from(a.depth_max)),
    ]
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("archive", ALL, (), |cells| {
        let archive = archive_of(cells)?;
        view.archives.load(archive.collection, Some(archive));
        Ok(())
    })
}

pub(in crate::sqlite) fn archive_of(cells: &Cells<'_>) -> Answer<Archive> {
    Ok(Archive {
        collection: CollectionId(cells.int(0)?),
        kind: cells.one_of(1, &ArchiveKind::ALL)?,
        place: cells.text(2)?,
        branch: cells.text(3)?,
        first: cells.int(4)?,
        trusted: cells.flag(5)?,
        identity: cells.text(6)?,
        youngest: cells.int(7)?,
        noticed: cells.int(8)?,
        planned: cells.int(9)?,
        planned_id: cells.text(10)?,
        awaiting_since: cells.time(11)?,
        state: cells.one_of(12, &ArchiveState::ALL)?,
        reason: cells.text(13)?,
        since: cells.time(14)?,
        barrier: cells.numbers(15)?.into_iter().map(TaskId).collect(),
        flows: cells.numbers(16)?.into_iter().map(FlowId).collect(),
        depth_max: cells.small(17)?,
    })
}
