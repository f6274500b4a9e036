//! One transaction at a time on a borrowed connection, and the words rows are made of.

use std::sync::Arc;
use std::time::Duration;

use armarius_core::event::digest;
use armarius_core::text::Name;
use armarius_engine::seam::StoreError;

use super::cells::int_of;
use super::fault::{Answer, corrupt, fault};
use super::pool::Pool;
use super::wire::{Kind, Reply, Row, Script, Talk, Trouble};
use super::words::{self, Words};
use crate::clock::tick;

/// The network's share of a statement's time.
const GRACE: Duration = Duration::from_secs(5);

// Plans follow the indexes, whatever statistics say at the moment: every statement names its rows
// by key, so one plan serves all values. Compiling them would take longer than running them. A
// server that commits without syncing is told to sync.
const SETTINGS: &str = "select set_config('search_path', $1, true),
    set_config('statement_timeout', $2, true), set_config('lock_timeout', $3, true),
    set_config('idle_in_transaction_session_timeout', $2, true), set_config('jit', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('plan_cache_mode', $4, true),
    case when current_setting('synchronous_commit') = 'off'
         then set_config('synchronous_commit', 'on', true) end";

/// A place to work at: some shards of a database.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) shards: Vec<u16>,
    pub(super) words: Words,
    pub(super) pool: Arc<Pool>,
    talk: Option<Talk>,
    /// The pool's generation when the words were learnt.
    generation: u64,
}

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One picture of everything, nothing locked.
    Read,
    /// Alone in the shard, waiting for whoever is there.
    Write,
    /// Alone in the shard, or not at all.
    TryWrite,
}

impl Desk {
    pub(super) fn new(pool: Arc<Pool>, shards: Vec<u16>) -> Self {
        Self { shards, words: Words::default(), pool, talk: None, generation: 0 }
    }

    /// Begins a transaction and runs what `first` asks in it, all in one exchange. `None` when the
    /// shard is somebody else's just now.
    pub(super) fn begin(
        &mut self,
        mode: Mode,
        first: impl Fn(&mut Script) -> Result<(), Trouble>,
    ) -> Answer<Option<Vec<Reply>>> {
        self.abandon();
        loop {
            let (talk, used) = self.pool.take()?;
            self.talk = Some(talk);
            let mut script = Script::default();
            let skip = self.open(mode, &mut script)?;
            first(&mut script)?;
            match self.exchange(script, self.pool.patience.lock + self.statement_time()) {
                Ok(replies) if mode == Mode::TryWrite && !is_ours(&replies, skip) => {
                    self.abandon();
                    return Ok(None);
                }
                Ok(mut replies) => {
                    self.doubt_words();
                    return Ok(Some(replies.split_off(skip)));
                }
                // It was idle while the server went away. Nothing has begun, so a new one is tried.
                Err(Trouble::Link(_)) if used => self.pool.forget_idle(),
                Err(trouble) => {
                    self.abandon();
                    return Err(fault(trouble));
                }
            }
        }
    }

    /// Forgets the words if the server may be another one than when they were learnt: a standby
    /// that lost its tail gives their numbers to others.
    pub(super) fn doubt_words(&mut self) {
        let generation = self.pool.generation();
        if std::mem::replace(&mut self.generation, generation) != generation {
            self.words.forget();
        }
    }

    /// The first statements of a transaction; says how many.
    fn open(&self, mode: Mode, script: &mut Script) -> Result<usize, Trouble> {
        script.ask(match mode {
            Mode::Read => "begin isolation level repeatable read, read only",
            Mode::Write | Mode::TryWrite => "begin isolation level read committed, read write",
        })?;
        let (patience, schema) = (&self.pool.patience, &self.pool.address.schema);
        script
            .with(Kind::Text, schema.as_str())?
            .with(Kind::Text, patience.statement.as_millis().to_string())?
            .with(Kind::Text, patience.lock.as_millis().to_string())?
            .with(Kind::Text, if self.pool.address.named { "force_generic_plan" } else { "auto" })?
            .ask(SETTINGS)?;
        let shard = self.shards.first().copied().unwrap_or_default();
        let lock = match mode {
            Mode::Read => return Ok(2),
            Mode::Write => "select pg_advisory_xact_lock($1, $2)",
            Mode::TryWrite => "select pg_try_advisory_xact_lock($1, $2)",
        };
        script.with(Kind::I4, lock_class(schema))?.with(Kind::I4, i64::from(shard))?.ask(lock)?;
        Ok(3)
    }

    /// Runs statements in the open transaction.
    pub(super) fn run(&mut self, script: Script) -> Answer<Vec<Reply>> {
        if script.is_empty() {
            return Ok(Vec::new());
        }
        self.exchange(script, self.statement_time()).map_err(fault)
    }

    /// Runs statements, with trouble as it is.
    pub(super) fn exchange(
        &mut self,
        script: Script,
        patience: Duration,
    ) -> Result<Vec<Reply>, Trouble> {
        let Some(talk) = &mut self.talk else {
            return Err(Trouble::Link("no transaction is open".to_owned()));
        };
        let outcome = talk.run(script, tick() + patience);
        if talk.broken {
            self.talk = None;
            self.pool.lost();
        }
        outcome
    }

    fn statement_time(&self) -> Duration {
        self.pool.patience.statement + GRACE
    }

    pub(super) fn is_open(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| talk.open)
    }

    /// What the server warned about in the last exchange.
    pub(super) fn warning(&self) -> Option<String> {
        let talk = self.talk.as_ref()?;
        talk.warnings.first().map(ToString::to_string)
    }

    /// Gives the connection back after its transaction has ended.
    pub(super) fn rest(&mut self) {
        if let Some(talk) = self.talk.take() {
            self.pool.give(talk);
        }
    }

    /// Ends a transaction that is not wanted.
    pub(super) fn abandon(&mut self) {
        self.words.rolled_back();
        if self.is_open() {
            let mut script = Script::default();
            // A statement without values cannot be written wrongly.
            if script.ask("rollback").is_ok() {
                self.exchange(script, GRACE).ok();
            }
        }
        self.rest();
    }

    /// Learns the numbers of names, as far as they have any.
    pub(super) fn learn(&mut self, names: Vec<&Name>) -> Answer<Option<i64>> {
        let names: std::collections::BTreeSet<&str> =
            names.into_iter().filter(|n| !self.words.knows(n)).map(|n| &**n).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut script = Script::default();
        let shards = self.shards.iter().map(|s| i64::from(*s));
        script.with_list(Kind::I2, shards)?.with_list(Kind::Text, names)?.ask(words::BY_TEXT)?;
        let replies = self.run(script)?;
        let rows = replies.first().map(|r| &r.rows[..]).unwrap_or_default();
        self.words.note(rows)?;
        Ok(rows.iter().find_map(|row| row.get(2).flatten().and_then(int_of)))
    }

    /// Numbers of words in these columns that are not known yet.
    pub(super) fn strange(&self, rows: &[Row], columns: &[usize], strange: &mut Vec<i32>) {
        for row in rows {
            for column in columns {
                let id = row.get(*column).flatten().and_then(int_of);
                let id = id.and_then(|id| i32::try_from(id).ok());
                strange.extend(id.filter(|id| !self.words.knows_id(*id)));
            }
        }
    }

    /// Learns words by their numbers.
    pub(super) fn look_up(&mut self, mut ids: Vec<i32>) -> Answer<()> {
        if ids.is_empty() {
            return Ok(());
        }
        ids.sort_unstable();
        ids.dedup();
        let mut script = Script::default();
        script.with_list(Kind::I4, ids)?.ask(words::BY_ID)?;
        let replies = self.run(script)?;
        self.words.note(replies.first().map(|r| &r.rows[..]).unwrap_or_default())
    }

    /// The rows of one statement, with all the words they name learnt.
    pub(super) fn rows(&mut self, script: Script, words: &[usize]) -> Answer<Vec<Row>> {
        let mut replies = self.run(script)?;
        let reply = replies.pop().ok_or_else(|| corrupt("a statement without an answer"))?;
        let mut strange = Vec::new();
        self.strange(&reply.rows, words, &mut strange);
        self.look_up(strange)?;
        Ok(reply.rows)
    }

    /// A script that begins with the list of shards.
    pub(super) fn ask_shards(&self) -> Result<Script, StoreError> {
        let mut script = Script::default();
        script.with_list(Kind::I2, self.shards.iter().map(|s| i64::from(*s)))?;
        Ok(script)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Whether the lock that was tried was got.
fn is_ours(replies: &[Reply], skip: usize) -> bool {
    let reply = skip.checked_sub(1).and_then(|at| replies.get(at));
    let row = reply.and_then(|r| r.rows.first());
    row.and_then(|row| row.get(0).flatten()) == Some(&[1])
}

/// The first half of the advisory locks of a schema: others may use such locks too.
pub(super) fn lock_class(schema: &str) -> i64 {
    let hash = digest(&format!("armarius {schema}"));
    int_of(hash.get(..4).unwrap_or_default()).unwrap_or_default()
}
