//! Rounds with more than one task.

use armarius_core::ids::{BatchId, FlowId, ItemId};
use armarius_core::rows::{Round, RoundKey};
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select item, flow, round, waiting, held, ready, leased, done, failed, cancelled, blocking,
         batch from round"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
const ONE: &str = concat!(columns!(), " where item = ?1 and flow = ?2 and round = ?3");

const SQL: Sql = Sql {
    table: "round",
    put: "insert or replace into round (item, flow, round, waiting, held, ready, leased, done,
                                        failed, cancelled, blocking, batch)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    delete: "delete from round where item = ?1 and flow = ?2 and round = ?3",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    let key = |k: &RoundKey| Ok((k.item.0, k.flow.0, k.round));
    desk.keep(&SQL, &view.rounds, key, |k, r| {
        let [waiting, held, ready, leased, done, failed, cancelled] = r.counts;
        let (item, flow, round) = (k.item.0, k.flow.0, k.round);
        let (blocking, batch) = (r.blocking, r.batch.map(|b| b.0));
        Ok((
            item, flow, round, waiting, held, ready, leased, done, failed, cancelled, blocking,
            batch,
        ))
    })
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[RoundKey], view: &mut View) -> Answer<()> {
    let bind = |k: &RoundKey| Ok(Some((k.item.0, k.flow.0, k.round)));
    desk.find(("round", ONE), keys, &mut view.rounds, bind, |cells| Ok(round_of(cells)?.1))
}

pub(in crate::sqlite) fn round_of(cells: &Cells<'_>) -> Answer<(RoundKey, Round)> {
    let mut counts = [0; 7];
    for (i, count) in counts.iter_mut().enumerate() {
        *count = cells.small(3 + i)?;
    }
    let round =
        Round { counts, blocking: cells.small(10)?, batch: cells.maybe_int(11)?.map(BatchId) };
    Ok((key_of(cells, 0)?, round))
}

/// The key whose columns begin at `at`.
pub(in crate::sqlite) fn key_of(cells: &Cells<'_>, at: usize) -> Answer<RoundKey> {
    Ok(RoundKey {
        item: ItemId(cells.int(at)?),
        flow: FlowId(cells.int(at + 1)?),
        round: cells.small(at + 2)?,
    })
}
