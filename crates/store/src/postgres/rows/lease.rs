//! Leases and what they hold.

use armarius_core::ids::{LeaseId, Span, Time};
use armarius_core::rows::Lease;
use armarius_core::view::View;

use crate::codes::lease_bytes;
use crate::grips;
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Cell, Kind};

pub(in crate::postgres) static LEASE: Table = Table::new(
    "lease",
    1,
    0,
    &[
        ("id", Kind::Bytes),
        ("worker", Kind::I4),
        ("actor", Kind::I4),
        ("ttl", Kind::I8),
        ("granted_at", Kind::I8),
        ("expires_at", Kind::I8),
        ("due_at", Kind::I8),
        ("grips", Kind::Text),
    ],
);
/// Where a lease's row names words.
pub(in crate::postgres) const LEASE_WORDS: &[usize] = &[1, 2];

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    let words = pen.words;
    pen.keep(
        &LEASE,
        &view.leases,
        |k| Ok([lease_bytes(*k).into()]),
        |k, l| {
            Ok([
                lease_bytes(*k).into(),
                words.id(&l.worker)?.into(),
                words.id(&l.actor)?.into(),
                l.ttl.0.into(),
                l.granted_at.0.into(),
                l.expires_at.0.into(),
                l.due_at().0.into(),
                grips::to_text(&l.grips).into(),
            ])
        },
    )
}

pub(in crate::postgres) fn wish<'k>(keys: &'k [LeaseId], wishes: &mut Wishes<'k>) -> Answer<()> {
    wishes.find(
        (LEASE.find(), &LEASE, LEASE_WORDS),
        keys,
        |k, grid| Ok(grid.push(&[lease_bytes(*k).into()])?),
        LEASE.key_grid(),
        |v| &mut v.leases,
        |cells| lease_of(cells).map(|lease| (lease.id, lease)),
    )
}

pub(in crate::postgres) fn wish_due(
    keys: Stretches<(), (Time, LeaseId)>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    static ORDER: Table = Table::new("lease", 2, 0, &[("due_at", Kind::I8), ("id", Kind::Bytes)]);
    wishes.stretch(
        (&ORDER.stretch(&[], &["due_at", "id"]), &ORDER, &[]),
        keys,
        |(), after| match after {
            Some((at, id)) => vec![at.0.into(), lease_bytes(*id).into()],
            // An empty name sorts before every lease.
            None => vec![i64::MIN.into(), Cell::Bytes(Vec::new().into())],
        },
        &ORDER.kinds(&["due_at", "id"]),
        |v| &mut v.due_leases,
        |cells| Ok(((cells.time(0)?, cells.lease(1)?), ())),
    )
}

pub(in crate::postgres) fn lease_of(cells: &Cells<'_>) -> Answer<Lease> {
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
