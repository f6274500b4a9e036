//! Archives.

use armarius_core::ids::{CollectionId, FlowId, TaskId};
use armarius_core::rows::{Archive, ArchiveKind, ArchiveState};
use armarius_core::view::View;

use crate::codes::{numbers_text, position};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static ARCHIVE: Table = Table::new(
    "archive",
    1,
    0,
    &[
        ("collection", Kind::I8),
        ("kind", Kind::I2),
        ("place", Kind::Text),
        ("branch", Kind::Text),
        ("first", Kind::I8),
        ("trusted", Kind::Flag),
        ("identity", Kind::Text),
        ("youngest", Kind::I8),
        ("noticed", Kind::I8),
        ("planned", Kind::I8),
        ("planned_id", Kind::Text),
        ("awaiting_since", Kind::I8),
        ("state", Kind::I2),
        ("reason", Kind::Text),
        ("since", Kind::I8),
        ("barrier", Kind::Text),
        ("flows", Kind::Text),
        ("depth_max", Kind::I8),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    pen.keep(
        &ARCHIVE,
        &view.archives,
        |k| Ok([k.0.into()]),
        |_, a| {
            Ok([
                a.collection.0.into(),
                position(&ArchiveKind::ALL, &a.kind).into(),
                (&*a.place).into(),
                (&*a.branch).into(),
                a.first.into(),
                a.trusted.into(),
                (&*a.identity).into(),
                a.youngest.into(),
                a.noticed.into(),
                a.planned.into(),
                (&*a.planned_id).into(),
                a.awaiting_since.0.into(),
                position(&ArchiveState::ALL, &a.state).into(),
                (&*a.reason).into(),
                a.since.0.into(),
                numbers_text(a.barrier.iter().map(|task| task.0)).into(),
                numbers_text(a.flows.iter().map(|flow| flow.0)).into(),
                a.depth_max.into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.all(&ARCHIVE, &[], |cells, view| {
        let archive = archive_of(cells)?;
        view.archives.load(archive.collection, Some(archive));
        Ok(())
    })
}

pub(in crate::postgres) fn archive_of(cells: &Cells<'_>) -> Answer<Archive> {
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
