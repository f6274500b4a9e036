//! Errands.

use armarius_core::ids::ErrandId;
use armarius_core::rows::Errand;
use armarius_core::view::View;

use crate::codes::{follow_code, follow_of};
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
    let follow = follow_of((cells.int(1)?, cells.int(2)?, cells.text(3)?, cells.small(4)?));
    Ok(Errand {
        id: ErrandId(cells.int(0)?),
        follow: follow.ok_or_else(|| cells.wrong(1, "is no follow-up"))?,
        cursor: cells.int(5)?,
        actor: cells.word(6)?,
        since: cells.time(7)?,
    })
}
