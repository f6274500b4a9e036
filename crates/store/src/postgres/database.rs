//! All shards of a database together.

use std::sync::Arc;

use armarius_core::event::digest;
use armarius_engine::seam::{self, Atlas, Description, Reader, Signals, Store, StoreError};

use super::atlas::PostgresAtlas;
use super::desk::Desk;
use super::migrate;
use super::output::OutputRows;
use super::pool::Pool;
use super::read::PostgresReader;
use super::signals::{Listener, Ringer};
use super::wire::url::Address;
use super::{Options, Postgres};

/// The collection of the house itself lives in the first shard.
const HOUSE: &str = "armarius";

/// A database, with few connections that all its shards share.
#[derive(Clone, Debug)]
pub struct Database {
    pool: Arc<Pool>,
    shards: u16,
    incarnation: String,
    options: Options,
    ringer: Option<Arc<Ringer>>,
}

impl Database {
    /// Connects to a database and brings its schema up to date; the schema is made when it is not
    /// there.
    pub fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let notify = address.notify;
        let pool = Arc::new(Pool::new(address, options.patience));
        let standing = migrate::migrate(&pool)?;
        if standing.unfinished && !options.unfinished {
            return Err(StoreError::Unusable(
                "a copy into this database was not finished; run `armarius store copy` again"
                    .to_owned(),
            ));
        }
        let voice = standing.voice;
        let ringer = notify.then(|| Ringer::new(&pool, voice));
        let (shards, incarnation) = (standing.shards, standing.incarnation);
        Ok(Self { pool, shards, incarnation, options, ringer: ringer.map(Arc::new) })
    }

    /// A name that no other database has.
    #[must_use]
    pub fn incarnation(&self) -> &str {
        &self.incarnation
    }

    /// One shard of it.
    pub fn shard(&self, shard: u16) -> Result<Postgres, StoreError> {
        if shard >= self.shards {
            let shards = self.shards;
            return Err(StoreError::Unusable(format!(
                "there is no shard {shard}, the database has {shards}"
            )));
        }
        let (pool, options) = (Arc::clone(&self.pool), self.options.clone());
        Ok(Postgres::new(pool, shard, options, self.ringer.clone()))
    }

    /// The output of tasks in it. Up to `whole_bytes_max` bytes an output is kept whole.
    #[must_use]
    pub fn outputs(&self, whole_bytes_max: u64) -> OutputRows {
        OutputRows::new(Arc::clone(&self.pool), whole_bytes_max)
    }

    /// A desk at one shard.
    pub(super) fn desk(&self, shard: u16) -> Desk {
        Desk::new(Arc::clone(&self.pool), vec![shard])
    }

    fn all(&self) -> Desk {
        Desk::new(Arc::clone(&self.pool), (0..self.shards).collect())
    }
}

impl seam::Database for Database {
    fn shards(&self) -> u16 {
        self.shards
    }

    fn open(&self, shard: u16) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(self.shard(shard)?))
    }

    fn atlas(&self) -> Result<Box<dyn Atlas>, StoreError> {
        Ok(Box::new(PostgresAtlas::new(self.all())))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(PostgresReader::new(self.all())))
    }

    fn signals(&self) -> Result<Option<Box<dyn Signals>>, StoreError> {
        let Some(ringer) = &self.ringer else { return Ok(None) };
        let (pool, voice) = (Arc::clone(&self.pool), ringer.voice().to_owned());
        Ok(Some(Box::new(Listener::new(pool, self.shards, voice))))
    }

    fn describe(&self) -> Description {
        describe(&self.pool.address)
    }
}

/// The shard a collection of this name is made in: the same for everyone.
#[must_use]
pub fn default_place(name: &str, shards: u16) -> u16 {
    if name == HOUSE || shards == 0 {
        return 0;
    }
    let hash = digest(name);
    let first = hash.first_chunk::<8>().copied().unwrap_or_default();
    u16::try_from(u64::from_be_bytes(first) % u64::from(shards)).unwrap_or_default()
}

pub(super) fn describe(address: &Address) -> Description {
    Description {
        kind: "postgres",
        place: address.to_string(),
        sync: "synchronous_commit as the database has it, and on where that is off",
        promise: "an acknowledged change survives whatever the database's own commits survive: \
                  a crash and a power cut of its server, and the loss of that server where a \
                  standby is replicated synchronously"
            .to_owned(),
        page_bytes: 0,
        cache_bytes: 0,
    }
}
