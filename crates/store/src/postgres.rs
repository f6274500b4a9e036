//! A store in a PostgreSQL database that many servers share.
//!
//! A database has shards. A transaction takes its shard's lock first and reads then, so that views,
//! numbers, chains, counters and time are as exact as with a single writer; what one server knows
//! of a shard stays right until the number of the newest commit says that somebody else wrote.
//!
//! Reading order: `wire/` (how a server is spoken to) · `pool` (connections) · `schema/` (what
//! stands there) · `table`, `cells`, `words` (how rows move) · `rows/` (each table) · `desk` (one
//! transaction) · `load`, `pen`, `known`, `commit` (the lane's side) · `resolve` (a commit whose
//! answer was lost) · `read` (everybody else's side) · `database`, `atlas`, `signals` (all shards
//! together) · `output` (what tasks write) · `verify`, `dump`, `audit` (doubt) ·
//! `piecemeal`, `import` (to and from another store).

mod atlas;
mod audit;
mod cells;
mod commit;
mod database;
mod desk;
mod dump;
mod fault;
mod import;
mod known;
mod load;
mod migrate;
mod output;
mod pen;
mod piecemeal;
mod pool;
mod read;
mod resolve;
mod rows;
mod signals;
mod table;
mod verify;
mod wire;
mod words;

pub use database::{Database, default_place};
pub use output::OutputRows;
pub use pool::Patience;
pub use wire::url::SHARDS;

use std::sync::Arc;

use armarius_core::event::Commit;
use armarius_core::ids::Time;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Description, Reader, Store, StoreError};

use self::cells::Cells;
use self::desk::{Desk, Mode};
use self::fault::{Answer, corrupt, fault};
use self::known::Known;
use self::pool::Pool;
use self::signals::Ringer;
use self::table::Table;
use self::wire::{Kind, Reply, Script, Trouble};
use crate::chain::Verified;
use crate::clock::Clock;
use crate::order;
use crate::world::World;

/// How a database is used, beyond what its address says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How long things may take.
    pub patience: Patience,
    /// Where the time comes from: the database's clock, unless moved by hand.
    pub clock: Clock,
    /// Whether a database into which a copy was begun and not finished is opened: to go on with
    /// it.
    pub unfinished: bool,
}

/// One shard of a database.
#[derive(Debug)]
pub struct Postgres {
    desk: Desk,
    shard: u16,
    options: Options,
    ringer: Option<Arc<Ringer>>,
    known: Known,
    /// The newest commit, as of the open transaction.
    head: CommitHead,
    /// The newest commit this store has seen at all.
    seen: CommitHead,
    /// When the server was started, as it last said.
    life: i64,
    /// Which server it is, where that is not yet written down.
    stand: Option<Identity>,
    /// Why something acknowledged may be missing.
    doubt: Option<String>,
    /// What contradicts itself in the database; nothing is tried after that.
    broken: Option<String>,
}

/// Which server this is: a standby that took over has another timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    system: i64,
    timeline: i64,
    /// Which table it was: one that was made anew holds what somebody once dumped.
    home: i64,
}

const HEAD: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint,
    c.n, c.seal, h.system, h.timeline, h.home, h.tableoid::bigint
    from shard as h
    left join lateral (select c.n, c.seal from \"commit\" as c where c.shard = h.shard
                       order by c.n desc limit 1) as c on true
    where h.shard = $1";
static HEAD_TABLE: Table = Table::new(
    "shard",
    0,
    0,
    &[
        ("now", Kind::I8),
        ("life", Kind::I8),
        ("n", Kind::I8),
        ("seal", Kind::Bytes),
        ("system", Kind::I8),
        ("timeline", Kind::I8),
        ("home", Kind::I8),
        ("tableoid", Kind::I8),
    ],
);
const IDENTITY: &str = "select (pg_control_system()).system_identifier,
    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint";
static IDENTITY_TABLE: Table =
    Table::new("server", 0, 0, &[("system", Kind::I8), ("timeline", Kind::I8)]);

impl Postgres {
    /// Opens one shard of a database, which is made if it is not there.
    pub fn open(url: &str, shard: u16, options: Options) -> Result<Self, StoreError> {
        Database::open(url, options)?.shard(shard)
    }

    fn new(pool: Arc<Pool>, shard: u16, options: Options, ringer: Option<Arc<Ringer>>) -> Self {
        Self {
            desk: Desk::new(pool, vec![shard]),
            shard,
            options,
            ringer,
            known: Known::default(),
            head: CommitHead::default(),
            seen: CommitHead::default(),
            life: 0,
            stand: None,
            doubt: None,
            broken: None,
        }
    }

    /// Everything the shard holds, read by queries of its own.
    pub fn dump(&self) -> Result<World, StoreError> {
        dump::dump(&mut self.aside())
    }

    /// Recomputes every hash of the shard's history and every seal; the doctor's question.
    pub fn verify_everything(&self) -> Result<Verified, StoreError> {
        verify::everything(&mut self.aside())
    }

    /// Another desk at the same shard.
    fn aside(&self) -> Desk {
        Desk::new(Arc::clone(&self.desk.pool), vec![self.shard])
    }

    fn enter(&mut self, mode: Mode, view: &mut View) -> Answer<Option<Time>> {
        let shard = i64::from(self.shard);
        let first = |script: &mut Script| {
            script.with(Kind::I2, shard)?.ask(HEAD)?;
            Ok(())
        };
        let Some(replies) = self.desk.begin(mode, first)? else { return Ok(None) };
        let (now, life, stored, home) = self.note_head(&replies)?;
        if life != self.life {
            // Behind a pooler nothing else tells that the server was replaced.
            self.desk.pool.renew();
            self.recognise(stored, home)?;
            self.life = life;
        }
        self.compare_with_seen();
        self.desk.doubt_words();
        if self.known.head != Some(self.head) {
            self.known = Known::load(&mut self.desk, self.shard, self.head)?;
        }
        if view.head != self.head || self.head.n == 0 || self.doubt.is_some() {
            *view = View::new(view.shard);
            view.head = self.head;
            load::whole(&mut self.desk, view)?;
        }
        Ok(Some(match &self.options.clock {
            Clock::System => now.max(Clock::high_water(view)),
            clock @ Clock::Hand(_) => clock.at_least(view),
        }))
    }

    /// The database's time, when it was started, where the shard was last written, and which table
    /// it stands in now.
    fn note_head(&mut self, replies: &[Reply]) -> Answer<(Time, i64, Identity, i64)> {
        let row = replies.first().and_then(|r| r.rows.first());
        let shard = self.shard;
        let row =
            row.ok_or_else(|| StoreError::Unusable(format!("the database has no shard {shard}")))?;
        let cells = Cells::new(&self.desk.words, &HEAD_TABLE, row);
        self.head = match cells.maybe_int(2)? {
            Some(n) => CommitHead { n, seal: cells.hash(3)? },
            None => CommitHead::default(),
        };
        let (system, timeline, home) = (cells.int(4)?, cells.int(5)?, cells.int(6)?);
        let stored = Identity { system, timeline, home };
        Ok((cells.time(0)?, cells.int(1)?, stored, cells.int(7)?))
    }

    /// Asks which server this is. Another one than before may lack what the last one acknowledged.
    fn recognise(&mut self, stored: Identity, home: i64) -> Answer<()> {
        let mut script = Script::default();
        script.ask(IDENTITY)?;
        let replies = self.desk.run(script)?;
        let row = replies.first().and_then(|r| r.rows.first());
        let row = row.ok_or_else(|| corrupt("the server does not say which it is"))?;
        let cells = Cells::new(&self.desk.words, &IDENTITY_TABLE, row);
        let server = Identity { system: cells.int(0)?, timeline: cells.int(1)?, home };
        if server == stored {
            return Ok(());
        }
        self.stand = Some(server);
        let (shard, n) = (self.shard, self.head.n);
        let Some(change) = change(stored, server) else { return Ok(()) };
        self.doubt = Some(format!(
            "{change}; what was acknowledged in shard {shard} after commit {n} may be missing"
        ));
        Ok(())
    }

    /// A newest commit that is not behind the newest one seen means that some are gone.
    fn compare_with_seen(&mut self) {
        let same = self.head.n != self.seen.n || self.head.seal == self.seen.seal;
        if self.head.n >= self.seen.n && same {
            self.seen = self.head;
            return;
        }
        let (shard, n, seen) = (self.shard, self.head.n, self.seen.n);
        self.doubt = Some(format!(
            "commits up to {seen} of shard {shard} were seen, and the newest is {n} now; what was \
             acknowledged after commit {} is gone",
            if n < seen { n } else { n - 1 }
        ));
    }

    fn finish(&mut self, view: &View, commit: &Commit) -> Answer<()> {
        order::follows(self.head, view, commit)?;
        commit::write(&mut self.desk, &self.known, view, commit, self.stand)?;
        let mut script = Script::default();
        script.ask("commit")?;
        let patience = self.options.patience.commit;
        match self.desk.exchange(script, patience) {
            Ok(_) => match self.desk.warning() {
                None => Ok(()),
                // Cancelled while it waited for a standby: made, but perhaps not kept there.
                Some(warning) => self.resolve(commit, &warning),
            },
            Err(Trouble::Server(complaint)) if !complaint.fatal => {
                Err(fault(Trouble::Server(complaint)))
            }
            Err(trouble) => self.resolve(commit, &trouble.to_string()),
        }
    }

    fn resolve(&mut self, commit: &Commit, why: &str) -> Answer<()> {
        self.desk.rest();
        resolve::resolve(&mut self.desk, commit, why, self.options.patience.resolve)
    }

    fn usable(&self) -> Answer<()> {
        match &self.broken {
            Some(text) => Err(corrupt(format!("not used any more after: {text}"))),
            None => Ok(()),
        }
    }

    /// After what is stored contradicts itself nothing may be tried again.
    fn note(&mut self, error: &StoreError) {
        if let StoreError::Corrupt(text) = error {
            self.broken = Some(text.clone());
        }
    }

    fn begin_as(&mut self, mode: Mode, view: &mut View) -> Answer<Option<Time>> {
        self.usable()?;
        self.enter(mode, view).inspect_err(|error| {
            self.desk.abandon();
            if let StoreError::Corrupt(text) = error {
                self.broken = Some(text.clone());
            }
        })
    }
}

/// What is different from where the shard was last written; nothing where that is not known.
fn change(stored: Identity, server: Identity) -> Option<String> {
    if stored.system != 0 && server.system != stored.system {
        return Some(
            "the database is on another server than before (restored or moved)".to_owned(),
        );
    }
    if stored.system != 0 && server.timeline != stored.timeline {
        let (now, before) = (server.timeline, stored.timeline);
        return Some(format!("a standby took over (timeline {now} after {before})"));
    }
    let is_new = stored.home != 0 && server.home != stored.home;
    is_new.then(|| "the tables were made anew (a dump was brought back)".to_owned())
}

impl Store for Postgres {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        let begun = self.begin_as(Mode::Write, view)?;
        begun.ok_or_else(|| StoreError::Unavailable("the shard is in use".to_owned()))
    }

    fn try_begin(&mut self, view: &mut View) -> Result<Option<Time>, StoreError> {
        self.begin_as(Mode::TryWrite, view)
    }

    fn doubt(&self) -> Option<String> {
        self.doubt.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn is_far(&self) -> bool {
        true
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.usable()?;
        load::load(&mut self.desk, needs, view).inspect_err(|error| self.note(error))
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        self.usable()?;
        if !self.desk.is_open() {
            return Err(StoreError::Unavailable("the transaction was lost".to_owned()));
        }
        if let Err(error) = self.finish(view, commit) {
            self.desk.abandon();
            self.note(&error);
            return Err(error);
        }
        self.desk.words.committed();
        self.desk.rest();
        self.head = CommitHead { n: commit.n, seal: commit.seal };
        self.seen = self.head;
        self.known.committed(view, self.head);
        (self.stand, self.doubt) = (None, None);
        if let Some(ringer) = &self.ringer {
            ringer.ring(self.shard);
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.desk.abandon();
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(read::PostgresReader::new(self.aside())))
    }

    fn describe(&self) -> Description {
        database::describe(&self.desk.pool.address)
    }
}
