//! Leases and what they hold.

use armarius_core::ids::{LeaseId, Span, Time};
use armarius_core::rows::Lease;
use armarius_core::view::View;

use crate::codes::lease_bytes;
use crate::grips;
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! columns {
    () => {
        "select id, worker, actor, ttl, granted_at, expires_at, due_at, grips from lease"
    };
}

pub(in crate::sqlite) const ALL: &str = columns!();
pub(in crate::sqlite) const AFTER: &str =
    concat!(columns!(), " where rowid > ?1 order by rowid limit ?2");
pub(in crate::sqlite) const ONE: &str = concat!(columns!(), " where id = ?1");
const DUE_AFTER: &str =
    "select id, due_at from lease where (due_at, id) > (?1, ?2) order by due_at, id limit ?3";

const SQL: Sql = Sql {
    table: "lease",
    put: "insert into lease (id, worker, actor, ttl, granted_at, expires_at, due_at, grips)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
          on conflict (id) do update set worker = ?2, actor = ?3, ttl = ?4, granted_at = ?5,
          expires_at = ?6, due_at = ?7, grips = ?8",
    delete: "delete from lease where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &SQL,
        &view.leases,
        |k| Ok((lease_bytes(*k),)),
        |k, l| {
            let (worker, actor) = (desk.word(&l.worker)?, desk.word(&l.actor)?);
            let (granted, expires, due) = (l.granted_at.0, l.expires_at.0, l.due_at().0);
            Ok((
                lease_bytes(*k),
                worker,
                actor,
                l.ttl.0,
                granted,
                expires,
                due,
                grips::to_text(&l.grips),
            ))
        },
    )
}

pub(in crate::sqlite) fn load(desk: &Desk, keys: &[LeaseId], view: &mut View) -> Answer<()> {
    let bind = |k: &LeaseId| Ok(Some((lease_bytes(*k),)));
    desk.find(("lease", ONE), keys, &mut view.leases, bind, lease_of)
}

pub(in crate::sqlite) fn load_due(
    desk: &Desk,
    (after, n): (Option<(Time, LeaseId)>, usize),
    view: &mut View,
) -> Answer<()> {
    // An empty name sorts before every lease.
    let at = after.map_or(i64::MIN, |(at, _)| at.0);
    let id = after.map_or_else(Vec::new, |(_, id)| lease_bytes(id).to_vec());
    let (rows, all) = desk.stretch(
        ("lease", DUE_AFTER),
        n,
        |limit| (at, id, limit),
        |cells| Ok(((cells.time(1)?, cells.lease(0)?), ())),
    )?;
    view.due_leases.load((), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn lease_of(cells: &Cells<'_>) -> Answer<Lease> {
    let grips = grips::from_text(cells.str(7)?);
    let lease = Lease {
        id: cells.lease(0)?,
        worker: cells.word(1)?,
        actor: cells.word(2)?,
        ttl: Span(cells.int(3)?),
        granted_at: cells.time(4)?,
        expires_at: cells.time(5)?,
        grips: grips.ok_or_else(|| cells.wrong(7, "is no list of grips"))?,
    };
    // The index that lets leases lapse stands on this column.
    if lease.due_at() != cells.time(6)? {
        return Err(cells.wrong(6, "is not when the lease is due"));
    }
    Ok(lease)
}
