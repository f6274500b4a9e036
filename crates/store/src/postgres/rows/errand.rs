//! Errands.

use armarius_core::ids::{BatchId, ErrandId, FlowId, HoldId, ItemId, TaskId};
use armarius_core::rows::{Errand, Follow};
use armarius_core::view::View;

use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static ERRAND: Table = Table::new(
    "errand",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("follow", Kind::I2),
        ("subject", Kind::I8),
        ("address", Kind::Text),
        ("amount", Kind::I4),
        ("cursor", Kind::I8),
        ("actor", Kind::I4),
        ("since", Kind::I8),
    ],
);
/// Where an errand's row names words.
pub(in crate::postgres) const ERRAND_WORDS: &[usize] = &[6];

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let words = pen.words;
    pen.keep_list(
        &ERRAND,
        &view.errands,
        |(), id| Ok([id.0.into()]),
        |(), id, e| {
            let (follow, subject, address, amount) = follow_code(&e.follow);
            Ok([
                id.0.into(),
                follow.into(),
                subject.into(),
                address.into(),
                amount.into(),
                e.cursor.into(),
                words.id(&e.actor)?.into(),
                e.since.0.into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish(
    keys: Stretches<(), ErrandId>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&ERRAND.stretch(&[], &["id"]), &ERRAND, ERRAND_WORDS),
        keys,
        |(), after| vec![after.map_or(i64::MIN, |e| e.0).into()],
        &ERRAND.kinds(&["id"]),
        |v| &mut v.errands,
        |cells| errand_of(cells).map(|errand| (errand.id, errand)),
    )
}

pub(in crate::postgres) fn errand_of(cells: &Cells<'_>) -> Answer<Errand> {
    Ok(Errand {
        id: ErrandId(cells.int(0)?),
        follow: follow_of(cells)?,
        cursor: cells.int(5)?,
        actor: cells.word(6)?,
        since: cells.time(7)?,
    })
}

/// Kind, subject, address, amount.
fn follow_code(follow: &Follow) -> (i64, i64, &str, i32) {
    match follow {
        Follow::Settled(task) => (0, task.0, "", 0),
        Follow::Bind(address, task) => (1, task.0, address, 0),
        Follow::Supersede(task) => (2, task.0, "", 0),
        Follow::Wake(item, depth, by) => (3, item.0, by, i32::try_from(*depth).unwrap_or(i32::MAX)),
        Follow::Fill(flow, fresh) => (4, flow.0, "", i32::from(*fresh)),
        Follow::Release(hold) => (5, hold.0, "", 0),
        Follow::Report(batch) => (6, batch.0, "", 0),
        Follow::CancelBatch(batch) => (7, batch.0, "", 0),
        Follow::DeleteBatch(batch) => (8, batch.0, "", 0),
        Follow::RetryBatch(batch) => (9, batch.0, "", 0),
        Follow::DeleteItem(item) => (10, item.0, "", 0),
        Follow::Reprioritise(item, priority) => (11, item.0, "", *priority),
        Follow::Rewound(item) => (12, item.0, "", 0),
    }
}

fn follow_of(cells: &Cells<'_>) -> Answer<Follow> {
    let subject = cells.int(2)?;
    Ok(match cells.int(1)? {
        0 => Follow::Settled(TaskId(subject)),
        1 => Follow::Bind(cells.text(3)?, TaskId(subject)),
        2 => Follow::Supersede(TaskId(subject)),
        3 => Follow::Wake(ItemId(subject), cells.small(4)?, cells.text(3)?),
        4 => Follow::Fill(FlowId(subject), cells.int(4)? != 0),
        5 => Follow::Release(HoldId(subject)),
        6 => Follow::Report(BatchId(subject)),
        7 => Follow::CancelBatch(BatchId(subject)),
        8 => Follow::DeleteBatch(BatchId(subject)),
        9 => Follow::RetryBatch(BatchId(subject)),
        10 => Follow::DeleteItem(ItemId(subject)),
        11 => Follow::Reprioritise(ItemId(subject), cells.small(4)?),
        12 => Follow::Rewound(ItemId(subject)),
        _ => return Err(cells.wrong(1, "is no follow-up")),
    })
}
