//! Flows, their versions and their queues.

use std::sync::Arc;

use armarius_core::flow::{Digest, Way, codec};
use armarius_core::ids::{CollectionId, FlowId, QueueId, VersionId};
use armarius_core::rows::{FlowRow, Queue, Version};
use armarius_core::view::View;

use crate::codes::{lease_bytes, list_text, position};
use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

macro_rules! version_columns {
    () => {
        "select id, flow, digest, definition, at from version"
    };
}

pub(in crate::sqlite) const FLOWS: &str =
    "select id, collection, name, version, removed, taken from flow";
pub(in crate::sqlite) const VERSIONS: &str = version_columns!();
pub(in crate::sqlite) const QUEUES: &str =
    "select id, collection, flow, step, labels, waiting, held, ready, leased, done, failed,
     cancelled, way from queue";
pub(in crate::sqlite) const VERSION: &str = concat!(version_columns!(), " where id = ?1");
const VERSION_BY_DIGEST: &str = "select id from version where flow = ?1 and digest = ?2";

const FLOW_SQL: Sql = Sql {
    table: "flow",
    put: "insert into flow (id, collection, name, version, removed, taken)
          values (?1, ?2, ?3, ?4, ?5, ?6)
          on conflict (id) do update set
          collection = ?2, name = ?3, version = ?4, removed = ?5, taken = ?6",
    delete: "delete from flow where id = ?1",
};

const VERSION_SQL: Sql = Sql {
    table: "version",
    put: "insert into version (id, flow, digest, definition, at) values (?1, ?2, ?3, ?4, ?5)
          on conflict (id) do update set definition = ?4, at = ?5
          where flow = ?2 and digest = ?3",
    delete: "delete from version where id = ?1",
};

const QUEUE_SQL: Sql = Sql {
    table: "queue",
    put: "insert into queue (id, collection, flow, step, labels,
                             waiting, held, ready, leased, done, failed, cancelled, way)
          values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
          on conflict (id) do update set collection = ?2, labels = ?5, waiting = ?6,
          held = ?7, ready = ?8, leased = ?9, done = ?10, failed = ?11, cancelled = ?12,
          way = ?13
          where flow = ?3 and step = ?4",
    delete: "delete from queue where id = ?1",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &FLOW_SQL,
        &view.flows,
        |k| Ok((k.0,)),
        |_, f| {
            let taken = f.taken.map(lease_bytes);
            Ok((f.id.0, f.collection.0, &*f.name, f.version.0, f.removed, taken))
        },
    )?;
    desk.keep(
        &VERSION_SQL,
        &view.versions,
        |k| Ok((k.0,)),
        |_, v| Ok((v.id.0, v.flow.0, v.digest, codec::to_text(&v.def), v.at.0)),
    )?;
    desk.keep(
        &QUEUE_SQL,
        &view.queues,
        |k| Ok((k.0,)),
        |_, q| {
            let [waiting, held, ready, leased, done, failed, cancelled] = q.counts;
            let (labels, way) = (list_text(&q.labels)?, position(&Way::ALL, &q.way));
            let (id, collection, flow, step) = (q.id.0, q.collection.0, q.flow.0, &*q.step);
            Ok((
                id, collection, flow, step, labels, waiting, held, ready, leased, done, failed,
                cancelled, way,
            ))
        },
    )
}

pub(in crate::sqlite) fn load_whole(desk: &Desk, view: &mut View) -> Answer<()> {
    desk.each("flow", FLOWS, (), |cells| {
        let flow = flow_of(cells)?;
        view.flow_names.load((flow.collection, flow.name.clone()), Some(flow.id));
        view.flows.load(flow.id, Some(flow));
        Ok(())
    })?;
    desk.each("queue", QUEUES, (), |cells| {
        let queue = queue_of(cells)?;
        view.queue_names.load((queue.flow, queue.step.clone()), Some(queue.id));
        view.queues.load(queue.id, Some(queue));
        Ok(())
    })
}

pub(in crate::sqlite) fn load_versions(
    desk: &Desk,
    keys: &[VersionId],
    view: &mut View,
) -> Answer<()> {
    let sql = ("version", VERSION);
    desk.find(sql, keys, &mut view.versions, |k| Ok(Some((k.0,))), version_of)
}

pub(in crate::sqlite) fn load_digests(
    desk: &Desk,
    keys: &[(FlowId, Digest)],
    view: &mut View,
) -> Answer<()> {
    let sql = ("version", VERSION_BY_DIGEST);
    desk.find(
        sql,
        keys,
        &mut view.version_digests,
        |k| Ok(Some((k.0.0, k.1))),
        |cells| cells.int(0).map(VersionId),
    )
}

pub(in crate::sqlite) fn flow_of(cells: &Cells<'_>) -> Answer<FlowRow> {
    Ok(FlowRow {
        id: FlowId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        name: cells.name(2)?,
        version: VersionId(cells.int(3)?),
        removed: cells.flag(4)?,
        taken: cells.maybe_lease(5)?,
    })
}

pub(in crate::sqlite) fn version_of(cells: &Cells<'_>) -> Answer<Version> {
    let def = codec::from_text(cells.str(3)?).map_err(|why| cells.wrong(3, &why))?;
    Ok(Version {
        id: VersionId(cells.int(0)?),
        flow: FlowId(cells.int(1)?),
        digest: cells.hash(2)?,
        def: Arc::new(def),
        at: cells.time(4)?,
    })
}

pub(in crate::sqlite) fn queue_of(cells: &Cells<'_>) -> Answer<Queue> {
    let mut counts = [0; 7];
    for (i, count) in counts.iter_mut().enumerate() {
        *count = cells.int(5 + i)?;
    }
    Ok(Queue {
        id: QueueId(cells.int(0)?),
        collection: CollectionId(cells.int(1)?),
        flow: FlowId(cells.int(2)?),
        step: cells.name(3)?,
        labels: cells.names(4)?,
        way: cells.one_of(12, &Way::ALL)?,
        counts,
    })
}
