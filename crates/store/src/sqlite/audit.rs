//! Rows against rows and against the history, piece by piece.
//!
//! Lists that are not ordered by task, and sums that grow with the file, are noted in temporary
//! tables ordered by task, round or batch, which SQLite keeps in a file of its own. Then everything
//! is walked in stretches, each of which becomes a small [`World`] for [`Audit`].

use std::collections::{BTreeMap, BTreeSet};

use armarius_core::audit::{Audit, Stretch};
use armarius_core::event::Event;
use armarius_core::fold::Folded;
use armarius_core::ids::{BatchId, HoldId, ItemId, LeaseId, QueueId, TaskId, VersionId};
use armarius_core::rows::{RoundKey, Target, Version};
use armarius_core::text::Text;

use super::cells::Cells;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::inspect::Watch;
use super::rows::{
    batch, collection, counter, edge, errand, event, flow, hold, item, lease, line, round, task,
};
use crate::codes::lease_bytes;
use crate::world::World;

/// How large the pieces are that are looked at together.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    /// Tasks of one stretch.
    pub tasks: i64,
    /// Leases of one stretch; each may grip a thousand tasks.
    pub leases: i64,
    /// Events after which the items folded so far are judged.
    pub events: usize,
}

impl Default for Pieces {
    fn default() -> Self {
        Self { tasks: 10_000, leases: 500, events: 20_000 }
    }
}

/// Versions of flows kept between stretches.
const VERSIONS_MAX: usize = 1_000;

const NOTES: &str = "
    create temp table ready_of (task integer, queue integer, behind integer, ord integer,
        primary key (task, queue, behind, ord)) without rowid;
    insert into ready_of select task, queue, behind, ord from ready order by task;
    create temp table line_of (task integer, slots text, behind integer, ord integer,
        primary key (task, slots, behind, ord)) without rowid;
    insert into line_of select task, slots, behind, ord from line order by task;
    create temp table timer_of (task integer, at integer, primary key (task, at)) without rowid;
    insert into timer_of select task, at from timer order by task;
    create temp table held_of (task integer, hold integer, primary key (task, hold)) without rowid;
    insert into held_of select task, hold from held order by task;
    create temp table grip_of (task integer, lease blob, primary key (task, lease)) without rowid;
    insert or ignore into grip_of select json_extract(grip.value, '$[0]'), lease.id
        from lease, json_each(lease.grips) as grip;
    create temp table round_sum (item integer, flow integer, round integer,
        a integer, b integer, c integer, d integer, e integer, f integer, g integer,
        primary key (item, flow, round)) without rowid;
    create temp table batch_sum (batch integer primary key,
        a integer, b integer, c integer, d integer);";

const READY_OF: &str =
    "select queue, behind, ord, task from ready_of where task > ?1 and task <= ?2";
const LINE_OF: &str = "select slots, behind, ord, task from line_of where task > ?1 and task <= ?2";
const TIMER_OF: &str = "select at, task from timer_of where task > ?1 and task <= ?2";
const HELD_OF: &str = "select hold, task from held_of where task > ?1 and task <= ?2";
const GRIP_OF: &str = "select distinct lease from grip_of where task > ?1 and task <= ?2";
const ADD_ROUND: &str = "insert into round_sum values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    on conflict do update set a = a + ?4, b = b + ?5, c = c + ?6, d = d + ?7, e = e + ?8,
    f = f + ?9, g = g + ?10";
const ADD_BATCH: &str = "insert into batch_sum values (?1, ?2, ?3, ?4, ?5)
    on conflict do update set a = a + ?2, b = b + ?3, c = c + ?4, d = d + ?5";
const ROUND_SUM: &str =
    "select a, b, c, d, e, f, g from round_sum where item = ?1 and flow = ?2 and round = ?3";
const BATCH_SUM: &str = "select a, b, c, d from batch_sum where batch = ?1";
const UPTO: &str = "select max(id), count(*) from
    (select id from task where id > ?1 order by id limit ?2)";

/// Everything that is wrong; what cannot be read is one finding, and the rest is looked at.
pub(super) fn audit(desk: &Desk, pieces: Pieces, watch: &mut Watch<'_>) -> Vec<String> {
    let (audit, versions) = (Audit::default(), BTreeMap::new());
    let mut walk = Walk { desk, pieces, watch, audit, versions };
    if let Err(error) = walk.rows() {
        walk.audit.note(error.to_string());
    }
    if let Err(error) = walk.history() {
        walk.audit.note(error.to_string());
    }
    walk.audit.finish()
}

struct Walk<'a, 'w> {
    desk: &'a Desk,
    pieces: Pieces,
    watch: &'a mut Watch<'w>,
    audit: Audit,
    versions: BTreeMap<VersionId, Version>,
}

impl Walk<'_, '_> {
    fn rows(&mut self) -> Answer<()> {
        (self.watch)("lists", 0, 1);
        self.desk.conn.execute_batch(NOTES).or_fault()?;
        let base = self.definitions()?;
        self.leases(&base)?;
        self.tasks(&base)?;
        self.rounds()?;
        self.batches()?;
        self.limits()?;
        self.audit.totals(&base.into_view());
        Ok(())
    }

    /// What is small and needed everywhere.
    fn definitions(&self) -> Answer<World> {
        let desk = self.desk;
        let mut base = World::default();
        let rows = desk.all("counter", counter::ALL, (), counter::counter_of)?;
        base.counters.extend(rows);
        let rows = desk.all("collection", collection::ALL, (), collection::collection_of)?;
        base.collections.extend(rows.into_iter().map(|r| (r.id, r)));
        let rows = desk.all("flow", flow::FLOWS, (), flow::flow_of)?;
        base.flows.extend(rows.into_iter().map(|r| (r.id, r)));
        let rows = desk.all("queue", flow::QUEUES, (), flow::queue_of)?;
        base.queues.extend(rows.into_iter().map(|r| (r.id, r)));
        let rows = desk.all("hold", hold::ALL, (), hold::hold_of)?;
        base.holds.extend(rows.into_iter().map(|r| (r.id, r)));
        desk.each("errand", errand::ALL, (), |cells| {
            let errand = errand::errand_of(cells)?;
            base.errands.entry(()).or_default().insert(errand.id, errand);
            Ok(())
        })?;
        Ok(base)
    }

    fn leases(&mut self, base: &World) -> Answer<()> {
        let mut after = 0_i64;
        loop {
            let mut world = base.clone();
            let found = self.desk.all(
                "lease",
                lease::AFTER,
                (after, self.pieces.leases),
                lease::lease_of,
            )?;
            let count = found.len();
            world.leases.extend(found.into_iter().map(|r| (r.id, r)));
            let gripped: BTreeSet<TaskId> =
                world.leases.values().flat_map(|l| l.grips.iter().map(|g| g.task)).collect();
            self.fetch_tasks(&gripped, &mut world)?;
            self.fetch_versions(&mut world)?;
            self.audit.leases(&world.into_view());
            if i64::try_from(count).unwrap_or(i64::MAX) < self.pieces.leases {
                return Ok(());
            }
            let sql = "select max(rowid) from
                (select rowid from lease where rowid > ?1 order by rowid limit ?2)";
            let last = self.desk.first("lease", sql, (after, self.pieces.leases), |c| c.int(0))?;
            after = last.unwrap_or(i64::MAX);
        }
    }

    fn tasks(&mut self, base: &World) -> Answer<()> {
        let total = self.count("select count(*) from task")?;
        let (mut after, mut done) = (i64::MIN, 0_u64);
        loop {
            let (upto, count) = self
                .desk
                .first("task", UPTO, (after, self.pieces.tasks), |c| {
                    Ok((c.maybe_int(0)?, c.int(1)?))
                })?
                .unwrap_or_default();
            // The last stretch has no end, so that what waits without a row is met.
            let is_last = count < self.pieces.tasks;
            let upto = upto.filter(|_| !is_last).unwrap_or(i64::MAX);
            let world = self.stretch(base, after, upto)?;
            let stretch = Stretch { after: TaskId(after), upto: TaskId(upto) };
            self.audit.tasks(&world.into_view(), stretch);
            self.put_away()?;
            done += u64::try_from(count).unwrap_or(0);
            (self.watch)("tasks", done, total);
            if is_last {
                return Ok(());
            }
            after = upto;
        }
    }

    /// Some tasks, and everything that belongs to them.
    fn stretch(&mut self, base: &World, after: i64, upto: i64) -> Answer<World> {
        let (desk, range) = (self.desk, (after, upto));
        let mut world = base.clone();
        let rows = desk.all("task", task::TASKS_BETWEEN, range, |c| task::task_of(c, 0))?;
        world.tasks.extend(rows.into_iter().map(|r| (r.id, r)));
        let rows = desk.all("body", task::BODIES_BETWEEN, range, task::body_of)?;
        world.bodies.extend(rows.into_iter().map(|r| (r.id, r)));
        desk.each("ready", READY_OF, range, |cells| {
            let list = world.ready.entry(QueueId(cells.int(0)?)).or_default();
            list.insert(line::rank_of(cells)?, ());
            Ok(())
        })?;
        desk.each("line", LINE_OF, range, |cells| {
            let list = world.lines.entry(cells.text(0)?).or_default();
            list.insert(line::rank_of(cells)?, ());
            Ok(())
        })?;
        desk.each("timer", TIMER_OF, range, |cells| {
            world.timers.entry(()).or_default().insert(line::timer_of(cells)?, ());
            Ok(())
        })?;
        desk.each("held", HELD_OF, range, |cells| {
            let list = world.held.entry(HoldId(cells.int(0)?)).or_default();
            list.insert(TaskId(cells.int(1)?), ());
            Ok(())
        })?;
        desk.each("edge", edge::BETWEEN, range, |cells| {
            let (target, task, edge) = edge::edge_of(cells)?;
            world.dependents.entry(target).or_default().insert(task, edge);
            Ok(())
        })?;
        let leases: Vec<LeaseId> = desk.all("lease", GRIP_OF, range, |cells| cells.lease(0))?;
        for id in leases {
            let found = desk.first("lease", lease::ONE, (lease_bytes(id),), lease::lease_of)?;
            world.leases.extend(found.map(|row| (row.id, row)));
        }
        let task_of = |target: &Target| match target {
            Target::Task(id) => Some(*id),
            Target::Absent(_) => None,
        };
        let targets: BTreeSet<TaskId> = world.dependents.keys().filter_map(task_of).collect();
        self.fetch_tasks(&targets, &mut world)?;
        self.fetch_versions(&mut world)?;
        Ok(world)
    }

    /// Rows of tasks that something refers to.
    fn fetch_tasks(&self, wanted: &BTreeSet<TaskId>, world: &mut World) -> Answer<()> {
        for TaskId(id) in wanted {
            if world.tasks.contains_key(&TaskId(*id)) {
                continue;
            }
            let row = self.desk.first("task", task::TASK, (id,), |c| task::task_of(c, 0))?;
            world.tasks.extend(row.map(|row| (row.id, row)));
            let body = self.desk.first("body", task::BODY, (id,), task::body_of)?;
            world.bodies.extend(body.map(|body| (body.id, body)));
        }
        Ok(())
    }

    fn fetch_versions(&mut self, world: &mut World) -> Answer<()> {
        if self.versions.len() > VERSIONS_MAX {
            self.versions.clear();
        }
        let wanted: BTreeSet<VersionId> = world.bodies.values().map(|body| body.version).collect();
        for id in wanted {
            if !self.versions.contains_key(&id) {
                let row = self.desk.first("version", flow::VERSION, (id.0,), flow::version_of)?;
                self.versions.extend(row.map(|row| (row.id, row)));
            }
            let known = self.versions.get(&id).cloned();
            world.versions.extend(known.map(|row| (row.id, row)));
        }
        Ok(())
    }

    /// Adds the sums of a stretch to those of the stretches before.
    fn put_away(&mut self) -> Answer<()> {
        for (RoundKey { item, flow, round }, n) in self.audit.take_rounds() {
            let [a, b, c, d, e, f, g] = n;
            self.desk.run(ADD_ROUND, (item.0, flow.0, round, a, b, c, d, e, f, g))?;
        }
        self.put_away_batches()
    }

    fn put_away_batches(&mut self) -> Answer<()> {
        for (BatchId(id), [a, b, c, d]) in self.audit.take_batches() {
            self.desk.run(ADD_BATCH, (id, a, b, c, d))?;
        }
        Ok(())
    }

    fn rounds(&mut self) -> Answer<()> {
        let total = self.count("select count(*) from round")?;
        let (desk, mut done) = (self.desk, 0);
        let mut statement = desk.prepare(round::ALL)?;
        let mut rows = statement.query(()).or_fault()?;
        while let Some(row) = rows.next().or_fault()? {
            let (key, row) = round::round_of(&Cells::new(desk, "round", row))?;
            let params = (key.item.0, key.flow.0, key.round);
            let counted = desk.first("round", ROUND_SUM, params, |cells| {
                let mut counts = [0; 7];
                for (i, count) in counts.iter_mut().enumerate() {
                    *count = cells.small(i)?;
                }
                Ok(counts)
            })?;
            self.audit.round(&key, &row, counted);
            done += 1;
            if done % 10_000 == 0 {
                self.put_away_batches()?;
                (self.watch)("rounds", done, total);
            }
        }
        self.put_away_batches()
    }

    fn batches(&mut self) -> Answer<()> {
        let (desk, audit) = (self.desk, &mut self.audit);
        desk.each("batch", batch::ALL, (), |cells| {
            let row = batch::batch_of(cells)?;
            let counted = desk.first("batch", BATCH_SUM, (row.id.0,), |cells| {
                Ok([cells.int(0)?, cells.int(1)?, cells.int(2)?, cells.int(3)?])
            })?;
            audit.batch(&row, counted.unwrap_or_default());
            Ok(())
        })
    }

    fn limits(&mut self) -> Answer<()> {
        let waiting: BTreeSet<Text> = self
            .desk
            .all("line", "select distinct slots from line", (), |c| c.text(0))?
            .into_iter()
            .collect();
        let audit = &mut self.audit;
        self.desk.each("slots", line::SLOTS, (), |cells| {
            let key = cells.text(0)?;
            audit.slots(&key, &line::slots_of(cells)?, waiting.contains(&key));
            Ok(())
        })
    }

    fn history(&mut self) -> Answer<()> {
        let total = self.count("select max(rowid) from event")?;
        let desk = self.desk;
        let mut statement = desk.prepare(event::EVENTS_IN_ORDER)?;
        let mut rows = statement.query(()).or_fault()?;
        let mut folding = Folding::default();
        let mut done = 0;
        while let Some(row) = rows.next().or_fault()? {
            let event = event::event_of(&Cells::new(desk, "event", row))?;
            if folding.is_full_before(&event, self.pieces.events) {
                self.judge(&mut folding)?;
                (self.watch)("history", done, total);
            }
            done += 1;
            if let Err(gap) = folding.take(&event) {
                self.audit.note(gap);
            }
        }
        self.judge(&mut folding)?;
        let rows = self.count("select count(*) from task")?;
        self.audit.rows(rows);
        Ok(())
    }

    /// Holds what was folded against the rows of those items.
    fn judge(&mut self, folding: &mut Folding) -> Answer<()> {
        let items = std::mem::take(folding).items;
        let (Some(first), Some(last)) = (items.first_key_value(), items.last_key_value()) else {
            return Ok(());
        };
        let range = (first.0.0, last.0.0);
        let mut world = World::default();
        let rows = self.desk.all("task", task::TASKS_OF_ITEMS, range, |c| task::task_of(c, 0))?;
        world.tasks.extend(rows.into_iter().map(|r| (r.id, r)));
        let rows = self.desk.all("body", task::BODIES_OF_ITEMS, range, task::body_of)?;
        world.bodies.extend(rows.into_iter().map(|r| (r.id, r)));
        // A task whose body is lost is not found by its item.
        let named = items.values().flatten().flat_map(|folded| folded.tasks.keys().copied());
        self.fetch_tasks(&named.collect(), &mut world)?;
        let rows = self.desk.all("mark", item::MARKS_OF_ITEMS, range, item::mark_of)?;
        world.marks.extend(rows);
        let part = world.into_view();
        for (item, folded) in &items {
            if let Some(folded) = folded {
                self.audit.history(&part, *item, folded);
            }
        }
        Ok(())
    }

    fn count(&self, sql: &'static str) -> Answer<u64> {
        let found = self.desk.first("count", sql, (), |cells| cells.maybe_int(0))?.flatten();
        Ok(u64::try_from(found.unwrap_or(0)).unwrap_or(0))
    }
}

/// Items in order, each with what its events say, or nothing when its numbers have a gap.
#[derive(Default)]
struct Folding {
    items: BTreeMap<ItemId, Option<Folded>>,
    events: usize,
}

impl Folding {
    /// Whether enough was folded, and the event begins another item.
    fn is_full_before(&self, event: &Event, max: usize) -> bool {
        self.events >= max && !self.items.contains_key(&event.item)
    }

    fn take(&mut self, event: &Event) -> Result<(), String> {
        self.events += 1;
        let folded = self.items.entry(event.item).or_insert_with(|| Some(Folded::default()));
        let taken = folded.as_mut().map_or(Ok(()), |folded| folded.take(event));
        if taken.is_err() {
            *folded = None;
        }
        taken
    }
}
