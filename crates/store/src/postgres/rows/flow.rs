//! Flows, their versions and their queues.

use std::sync::Arc;

use armarius_core::flow::{Digest, Way, codec};
use armarius_core::ids::{CollectionId, FlowId, QueueId, VersionId};
use armarius_core::rows::{FlowRow, Queue, Version};
use armarius_core::view::View;

use super::tally::{self, Of, Sheet};
use crate::codes::{lease_bytes, list_text, position};
use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::known::Known;
use crate::postgres::load::Wishes;
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::{Grid, Kind};

pub(in crate::postgres) static FLOW: Table = Table::new(
    "flow",
    1,
    0,
    &[
        ("id", Kind::I8),
        ("collection", Kind::I8),
        ("name", Kind::Text),
        ("version", Kind::I8),
        ("removed", Kind::Flag),
        ("taken", Kind::Bytes),
    ],
);

pub(in crate::postgres) static VERSION: Table = Table::new(
    "version",
    1,
    2,
    &[
        ("id", Kind::I8),
        ("flow", Kind::I8),
        ("digest", Kind::Bytes),
        ("definition", Kind::Text),
        ("at", Kind::I8),
    ],
);

/// The quiet part; counts and front are a tally.
pub(in crate::postgres) static QUEUE: Table = Table::new(
    "queue",
    1,
    2,
    &[
        ("id", Kind::I8),
        ("flow", Kind::I8),
        ("step", Kind::Text),
        ("collection", Kind::I8),
        ("labels", Kind::Text),
        ("way", Kind::I2),
    ],
);

const BY_DIGEST: &str = "select t.id, k.flow, k.digest
    from unnest($2::bigint[], $3::bytea[]) as k(flow, digest)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select t.id from version as t where t.shard = s.shard and t.flow = k.flow
                        and t.digest = k.digest limit 1) as t";

pub(in crate::postgres) const QUEUES: &str =
    "select t.id, t.flow, t.step, t.collection, t.labels, t.way, v.vals
    from queue as t
    cross join lateral (select v.vals from tally as v where v.shard = t.shard and v.kind = 0
                        and v.id = t.id order by v.rev desc limit 1) as v
    where t.shard = any($1::smallint[]) order by t.id";

pub(in crate::postgres) fn write(
    pen: &mut Pen<'_>,
    view: &View,
    known: &Known,
    rev: i64,
) -> Answer<()> {
    pen.keep(
        &FLOW,
        &view.flows,
        |k| Ok([k.0.into()]),
        |_, f| {
            Ok([
                f.id.0.into(),
                f.collection.0.into(),
                (&*f.name).into(),
                f.version.0.into(),
                f.removed.into(),
                f.taken.map(lease_bytes).into(),
            ])
        },
    )?;
    pen.keep_large(
        &VERSION,
        &view.versions,
        |_| false,
        |k| Ok([k.0.into()]),
        |_, v| {
            let definition = codec::to_text(&v.def).into();
            Ok([v.id.0.into(), v.flow.0.into(), (&v.digest).into(), definition, v.at.0.into()])
        },
    )?;
    write_queues(pen, view, known, rev)
}

/// Queues whose ready tasks changed get a new front, whether their counts changed or not.
fn write_queues(pen: &mut Pen<'_>, view: &View, known: &Known, rev: i64) -> Answer<()> {
    let gone: Vec<i64> = view.queues.changes().filter(|c| c.1.is_none()).map(|c| c.0.0).collect();
    tally::delete(pen, Of::Queue, &gone)?;
    pen.delete(&QUEUE, &view.queues, |k| Ok([k.0.into()]))?;
    let mut rows = QUEUE.grid();
    for (id, queue) in view.queues.changes() {
        let Some(q) = queue else { continue };
        let before = known.queues.get(id);
        if before.is_some_and(|(b, _)| Queue { counts: b.counts, ..q.clone() } == *b) {
            continue;
        }
        let (flow, step, labels) = (q.flow.0, &*q.step, list_text(&q.labels)?);
        let (collection, way) = (q.collection.0, position(&Way::ALL, &q.way));
        rows.push(&[
            id.0.into(),
            flow.into(),
            step.into(),
            collection.into(),
            labels.into(),
            way.into(),
        ])?;
    }
    pen.put_or_add(&QUEUE, rows)?;
    let mut sheet = Sheet::new(Of::Queue);
    for id in known.moved(view) {
        let Some(queue) = view.queues.get(&id).ok().flatten() else { continue };
        let front = tally::front(view, id, known.front(id));
        let [a, b, c, d, e, f, g] = queue.counts;
        sheet.push(id.0, &[a, b, c, d, e, f, g, front.behind.into(), front.ord, front.task.0]);
    }
    sheet.write(pen, rev)
}

pub(in crate::postgres) fn wish_whole(wishes: &mut Wishes<'_>) -> Answer<()> {
    wishes.all(&FLOW, &[], |cells, view| {
        let flow = flow_of(cells)?;
        view.flow_names.load((flow.collection, flow.name.clone()), Some(flow.id));
        view.flows.load(flow.id, Some(flow));
        Ok(())
    })?;
    wishes.ask(QUEUES, None, &[], |words, rows, view| {
        for row in rows {
            let queue = queue_of(&Cells::new(words, &QUEUE, row))?;
            view.queue_names.load((queue.flow, queue.step.clone()), Some(queue.id));
            view.queues.load(queue.id, Some(queue));
        }
        Ok(())
    })
}

pub(in crate::postgres) fn wish_versions<'k>(
    keys: &'k [VersionId],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (VERSION.find(), &VERSION, &[]),
        keys,
        |k, grid| Ok(grid.push(&[k.0.into()])?),
        VERSION.key_grid(),
        |v| &mut v.versions,
        |cells| version_of(cells).map(|version| (version.id, version)),
    )
}

pub(in crate::postgres) fn wish_digests<'k>(
    keys: &'k [(FlowId, Digest)],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (BY_DIGEST, &VERSION, &[]),
        keys,
        |(flow, digest), grid| Ok(grid.push(&[flow.0.into(), digest.into()])?),
        Grid::new([Kind::I8, Kind::Bytes]),
        |v| &mut v.version_digests,
        |cells| Ok(((FlowId(cells.int(1)?), cells.hash(2)?), VersionId(cells.int(0)?))),
    )
}

pub(in crate::postgres) fn flow_of(cells: &Cells<'_>) -> Answer<FlowRow> {
    Ok(FlowRow {
        id: FlowId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        name: cells.name(2)?,
        version: VersionId(cells.int(3)?),
        removed: cells.flag(4)?,
        taken: cells.maybe_lease(5)?,
    })
}

pub(in crate::postgres) fn version_of(cells: &Cells<'_>) -> Answer<Version> {
    let def = codec::from_text(cells.str(3)?).map_err(|why| cells.wrong(3, &why))?;
    Ok(Version {
        id: VersionId(cells.int(0)?),
        flow: FlowId(cells.int(1)?),
        digest: cells.hash(2)?,
        def: Arc::new(def),
        at: cells.time(4)?,
    })
}

pub(in crate::postgres) fn queue_of(cells: &Cells<'_>) -> Answer<Queue> {
    Ok(Queue {
        id: QueueId(cells.int(0)?),
        flow: FlowId(cells.int(1)?),
        step: cells.name(2)?,
        collection: CollectionId(cells.int(3)?),
        labels: cells.names(4)?,
        way: cells.one_of(5, &Way::ALL)?,
        counts: tally::queue_of(cells, 6)?.0,
    })
}
