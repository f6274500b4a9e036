//! Idempotency keys.

use armarius_core::ids::{BatchId, FlowId, HoldId, ItemId, TaskId};
use armarius_core::rows::{Idem, Made, RoundKey};
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select key, digest, made, subject, flow, n, task from idem"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
const ONE: &str = concat!(columns!(), " where key = ?1");

const SQL: Sql = Sql {
    table: "idem",
    put: "insert or replace into idem (key, digest, made, subject, flow, n, task)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    delete: "delete from idem where key = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.idems,
        |k| Ok((&**k,)),
        |k, idem| {
            let (made, subject, flow, n, task) = made_code(&idem.made);
            Ok((&**k, idem.digest, made, subject, flow, n, task))
        },
    )
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[Text], view: &mut View) -> Answer<()> {
    desk.find(("idem", ONE), keys, &mut view.idems, |k| Ok(Some((&**k,))), |c| Ok(idem_of(c)?.1))
}

pub(in crate::sqlite) fn idem_of(cells: &Cells<'_>) -> Answer<(Text, Idem)> {
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
