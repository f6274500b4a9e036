//! Idempotency keys.

use armarius_core::rows::Idem;
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::codes::{made_code, made_of};
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
    let (flow, n, task) = (cells.maybe_int(4)?, cells.maybe_int(5)?, cells.maybe_int(6)?);
    let made = made_of((cells.int(2)?, cells.int(3)?, flow, n, task));
    let made = made.ok_or_else(|| cells.wrong(2, "is nothing a request makes"))?;
    Ok((cells.text(0)?, Idem { digest: cells.hash(1)?, made }))
}
