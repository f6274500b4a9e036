//! Idempotency keys.

use armarius_core::rows::Idem;
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::codes::{made_code, made_of};
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
    let (flow, n, task) = (cells.maybe_int(4)?, cells.maybe_int(5)?, cells.maybe_int(6)?);
    let made = made_of((cells.int(2)?, cells.int(3)?, flow, n, task));
    let made = made.ok_or_else(|| cells.wrong(2, "is nothing a request makes"))?;
    Ok((cells.text(0)?, Idem { digest: cells.hash(1)?, made }))
}
