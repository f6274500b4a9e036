//! Rounds with more than one task.

use armarius_core::ids::{BatchId, FlowId, ItemId};
use armarius_core::rows::{Round, RoundKey};
use armarius_core::view::View;

use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static ROUND: Table = Table::new(
    "round",
    3,
    0,
    &[
        ("item", Kind::I8),
        ("flow", Kind::I8),
        ("round", Kind::I8),
        ("waiting", Kind::U4),
        ("held", Kind::U4),
        ("ready", Kind::U4),
        ("leased", Kind::U4),
        ("done", Kind::U4),
        ("failed", Kind::U4),
        ("cancelled", Kind::U4),
        ("blocking", Kind::U4),
        ("batch", Kind::I8),
    ],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let key = |k: &RoundKey| Ok([k.item.0.into(), k.flow.0.into(), k.round.into()]);
    pen.keep(&ROUND, &view.rounds, key, |k, r| {
        let [waiting, held, ready, leased, done, failed, cancelled] = r.counts.map(Into::into);
        Ok([
            k.item.0.into(),
            k.flow.0.into(),
            k.round.into(),
            waiting,
            held,
            ready,
            leased,
            done,
            failed,
            cancelled,
            r.blocking.into(),
            r.batch.map(|b| b.0).into(),
        ])
    })
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [RoundKey], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (ROUND.find(), &ROUND, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.item.0.into(), k.flow.0.into(), k.round.into()])?),
        ROUND.key_grid(),
        |v| &mut v.rounds,
        round_of,
    )
}

pub(in crate::postgres) fn round_of(cells: &Cells<'_>) -> Answer<(RoundKey, Round)> {
    let mut counts = [0; 7];
    for (i, count) in counts.iter_mut().enumerate() {
        *count = cells.count(3 + i)?;
    }
    let round =
        Round { counts, blocking: cells.count(10)?, batch: cells.maybe_int(11)?.map(BatchId) };
    Ok((key_of(cells, 0)?, round))
}

/// The key whose columns begin at `at`.
pub(in crate::postgres) fn key_of(cells: &Cells<'_>, at: usize) -> Answer<RoundKey> {
    Ok(RoundKey {
        item: ItemId(cells.int(at)?),
        flow: FlowId(cells.int(at + 1)?),
        round: cells.small(at + 2)?,
    })
}
