//! Idempotency keys.

use armarius_core::ids::{BatchId, FlowId, HoldId, ItemId, TaskId};
use armarius_core::rows::{Idem, Made, RoundKey};
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static IDEM: Table = Table::new(
    "idem",
    1,
    0,
    &[
        ("key", Kind::Text),
        ("digest", Kind::Bytes),
        ("made", Kind::I2),
        ("subject", Kind::I8),
        ("flow", Kind::I8),
        ("n", Kind::I8),
        ("task", Kind::I8),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    pen.keep(
        &IDEM,
        &view.idems,
        |k| Ok([(&**k).into()]),
        |k, idem| {
            let (made, subject, flow, n, task) = made_code(&idem.made);
            Ok([
                (&**k).into(),
                (&idem.digest).into(),
                made.into(),
                subject.into(),
                flow.into(),
                n.into(),
                task.into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [Text], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (IDEM.find(), &IDEM, &[]),
        keys,
        |k, grid| Ok(grid.push(&[(&**k).into()])?),
        IDEM.key_grid(),
        |v| &mut v.idems,
        idem_of,
    )
}

pub(in crate::postgres) fn idem_of(cells: &Cells<'_>) -> Answer<(Text, Idem)> {
    Ok((cells.text(0)?, Idem { digest: cells.hash(1)?, made: made_of(cells)? }))
}

type MadeCode = (i64, i64, Option<i64>, Option<i64>, Option<i64>);

/// Kind, subject, flow, number, task.
fn made_code(made: &Made) -> MadeCode {
    match made {
        Made::Round(key, task) => {
            (0, key.item.0, Some(key.flow.0), Some(i64::from(key.round)), Some(task.0))
        }
        Made::Event(item, n) => (1, item.0, None, Some(*n), None),
        Made::Batch(batch) => (2, batch.0, None, None, None),
        Made::Item(item) => (3, item.0, None, None, None),
        Made::Hold(hold) => (4, hold.0, None, None, None),
    }
}

fn made_of(cells: &Cells<'_>) -> Answer<Made> {
    let subject = cells.int(3)?;
    Ok(match cells.int(2)? {
        0 => {
            let (flow, round) = (FlowId(cells.int(4)?), cells.small(5)?);
            let key = RoundKey { item: ItemId(subject), flow, round };
            Made::Round(key, TaskId(cells.int(6)?))
        }
        1 => Made::Event(ItemId(subject), cells.int(5)?),
        2 => Made::Batch(BatchId(subject)),
        3 => Made::Item(ItemId(subject)),
        4 => Made::Hold(HoldId(subject)),
        _ => return Err(cells.wrong(2, "is nothing a request makes")),
    })
}
