//! Where things are, and what is new: read outside of any lock, so only a hint.

use armarius_core::ids::Time;
use armarius_core::text::Name;
use armarius_engine::seam::{Atlas, Head, Heads, StoreError, Thing};

use super::cells::Cells;
use super::database::default_place;
use super::desk::{Desk, Mode};
use super::fault::Answer;
use super::table::Table;
use super::wire::{Cell, Kind, Script};
use crate::codes::lease_bytes;

const PLACE: &str = "select shard from place where name = $1";
// The shard that has something of this number.
macro_rules! whose {
    ($table:literal) => {
        concat!(
            "select t.shard from unnest($1::smallint[]) as s(shard)
             cross join lateral (select t.shard from ",
            $table,
            " as t where t.shard = s.shard and t.id = $2 limit 1) as t limit 1"
        )
    };
}

const LEASE: &str = whose!("lease");
const TASK: &str = whose!("task");
const BATCH: &str = whose!("batch");
const HOLD: &str = whose!("hold");
const SCHEDULE: &str = whose!("schedule");
const ERRAND: &str = whose!("errand");

static SHARD_TABLE: Table = Table::new("place", 1, 0, &[("shard", Kind::I2)]);

// Of each shard: its newest commit, what is due first, and which collections have ready tasks with
// which best rank. Queues know from their tallies whether they have any.
const HEADS: &str = "select s.shard, (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    (select c.n from \"commit\" as c where c.shard = s.shard order by c.n desc limit 1),
    case when exists (select from errand as e where e.shard = s.shard) then 0 else
        least((select l.due_at from lease as l where l.shard = s.shard
               order by l.due_at, l.id limit 1),
              (select t.at from timer as t where t.shard = s.shard order by t.at, t.task limit 1),
              (select min(h.until) from hold as h where h.shard = s.shard)) end
    from unnest($1::smallint[]) as s(shard)";
static HEADS_TABLE: Table = Table::new(
    "shard",
    1,
    0,
    &[("shard", Kind::I2), ("now", Kind::I8), ("n", Kind::I8), ("due", Kind::I8)],
);
const READY: &str = "select t.shard, c.name, min(r.behind)
    from queue as t
    cross join lateral (select v.vals from tally as v where v.shard = t.shard and v.kind = 0
                        and v.id = t.id order by v.rev desc limit 1) as v
    cross join lateral (select r.behind from ready as r where r.shard = t.shard and r.queue = t.id
                        and (r.behind, r.ord, r.task) >
                            (v.vals[8]::integer, v.vals[9], v.vals[10])
                        order by r.behind, r.ord, r.task limit 1) as r
    join collection as c on c.shard = t.shard and c.id = t.collection
    where t.shard = any($1::smallint[]) and v.vals[3] > 0
    group by t.shard, c.name";
static READY_TABLE: Table =
    Table::new("queue", 1, 0, &[("shard", Kind::I2), ("name", Kind::Text), ("behind", Kind::I4)]);

/// Asks about all shards.
#[derive(Debug)]
pub(super) struct PostgresAtlas {
    desk: Desk,
}

impl PostgresAtlas {
    pub(super) fn new(desk: Desk) -> Self {
        Self { desk }
    }

    fn still<T>(&mut self, look: impl FnOnce(&mut Desk) -> Answer<T>) -> Answer<T> {
        self.desk.begin(Mode::Read, |_| Ok(()))?;
        let answer = look(&mut self.desk);
        self.desk.abandon();
        answer
    }
}

impl Atlas for PostgresAtlas {
    fn place(&mut self, collection: &Name) -> Result<u16, StoreError> {
        let shards = u16::try_from(self.desk.shards.len()).unwrap_or_default();
        let found = self.still(|desk| {
            let mut script = Script::default();
            script.with(Kind::Text, collection.as_str())?.ask(PLACE)?;
            shard_in(desk, script)
        })?;
        Ok(found.unwrap_or_else(|| default_place(collection, shards)))
    }

    fn find(&mut self, thing: Thing) -> Result<Option<u16>, StoreError> {
        let (sql, kind, id) = match thing {
            Thing::Lease(id) => (LEASE, Kind::Bytes, Cell::from(lease_bytes(id))),
            Thing::Task(id) => (TASK, Kind::I8, id.0.into()),
            Thing::Batch(id) => (BATCH, Kind::I8, id.0.into()),
            Thing::Hold(id) => (HOLD, Kind::I8, id.0.into()),
            Thing::Schedule(id) => (SCHEDULE, Kind::I8, id.0.into()),
            Thing::Errand(id) => (ERRAND, Kind::I8, id.0.into()),
        };
        self.still(|desk| {
            let mut script = desk.ask_shards()?;
            script.with(kind, id)?.ask(sql)?;
            shard_in(desk, script)
        })
    }

    fn heads(&mut self) -> Result<Heads, StoreError> {
        self.still(|desk| {
            let mut script = desk.ask_shards()?;
            script.ask(HEADS)?;
            script.with_list(Kind::I2, desk.shards.iter().map(|s| i64::from(*s)))?.ask(READY)?;
            let replies = desk.run(script)?;
            let mut heads = Heads { now: Time::ZERO, shards: Vec::new() };
            heads.shards.resize_with(desk.shards.len(), Head::default);
            let mut replies = replies.into_iter();
            for row in replies.next().unwrap_or_default().rows {
                let cells = Cells::new(&desk.words, &HEADS_TABLE, &row);
                heads.now = heads.now.max(cells.time(1)?);
                let shard: usize = cells.small(0)?;
                if let Some(head) = heads.shards.get_mut(shard) {
                    head.n = cells.maybe_int(2)?.unwrap_or_default();
                    head.due = cells.maybe_int(3)?.map(Time);
                }
            }
            for row in replies.next().unwrap_or_default().rows {
                let cells = Cells::new(&desk.words, &READY_TABLE, &row);
                let shard: usize = cells.small(0)?;
                if let Some(head) = heads.shards.get_mut(shard) {
                    head.ready.push((cells.name(1)?, cells.small(2)?));
                }
            }
            Ok(heads)
        })
    }
}

fn shard_in(desk: &mut Desk, script: Script) -> Answer<Option<u16>> {
    let rows = desk.rows(script, &[])?;
    let shard = |row| Cells::new(&desk.words, &SHARD_TABLE, row).small(0);
    rows.first().map(shard).transpose()
}
