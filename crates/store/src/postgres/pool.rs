//! Connections to one database: few, shared by all shards, each lent for one transaction.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use armarius_engine::seam::StoreError;

use super::fault::{Answer, fault};
use super::wire::hello;
use super::wire::url::Address;
use super::wire::{Script, Talk, Trouble};
use crate::clock::tick;

/// A connection that nobody used for so long is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// How long saying goodbye may take.
const LEAVE_MAX: Duration = Duration::from_millis(100);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A statement, the end of a transaction excepted.
    pub statement: Duration,
    /// Waiting for another server that writes the same shard.
    pub lock: Duration,
    /// The end of a transaction. With synchronous replication it lasts until the standby has it.
    pub commit: Duration,
    /// Finding out what became of a commit whose answer was lost.
    pub resolve: Duration,
    /// Waiting for a free connection.
    pub connection: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            statement: Duration::from_secs(30),
            lock: Duration::from_secs(10),
            commit: Duration::from_secs(30),
            resolve: Duration::from_secs(15),
            connection: Duration::from_secs(10),
        }
    }
}

/// Connections to one database.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) address: Address,
    pub(super) patience: Patience,
    state: Mutex<State>,
    freed: Condvar,
    /// Whether a connection ever succeeded: from then on trouble passes.
    reached: AtomicBool,
    /// Moves whenever the server may be another one than before.
    generation: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<(Talk, Instant)>,
    lent: usize,
}

impl Pool {
    pub(super) fn new(address: Address, patience: Patience) -> Self {
        let (state, freed, reached) = (Mutex::default(), Condvar::new(), AtomicBool::new(false));
        let generation = AtomicU64::new(0);
        Self { address, patience, state, freed, reached, generation }
    }

    /// A connection, used before or new; says whether it was used before.
    pub(super) fn take(&self) -> Answer<(Talk, bool)> {
        let until = tick() + self.patience.connection;
        let mut state = self.lock();
        loop {
            if let Some((talk, _)) = state.idle.pop() {
                state.lent += 1;
                return Ok((talk, true));
            }
            if state.lent < self.address.connections {
                state.lent += 1;
                drop(state);
                return self.connect().map(|talk| (talk, false)).inspect_err(|_| self.lost());
            }
            let left = until.saturating_duration_since(tick());
            if left.is_zero() {
                let max = self.address.connections;
                return Err(StoreError::Unavailable(format!(
                    "all {max} connections to the database are in use"
                )));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes a connection back; one in the middle of something is closed.
    pub(super) fn give(&self, mut talk: Talk) {
        let now = tick();
        let mut state = self.lock();
        state.lent = state.lent.saturating_sub(1);
        let old: Vec<(Talk, Instant)> =
            state.idle.extract_if(.., |(_, since)| now.duration_since(*since) > IDLE_MAX).collect();
        if !talk.broken && !talk.open {
            state.idle.push((talk, now));
        } else if !talk.broken {
            drop(state);
            talk.leave(now + LEAVE_MAX);
        }
        self.freed.notify_one();
        old.into_iter().for_each(|(mut talk, _)| talk.leave(now + LEAVE_MAX));
    }

    /// One connection less: it is gone.
    pub(super) fn lost(&self) {
        let mut state = self.lock();
        state.lent = state.lent.saturating_sub(1);
        drop(state);
        self.freed.notify_one();
    }

    /// Closes what is idle: the server has gone away, and so have they.
    pub(super) fn forget_idle(&self) {
        self.lock().idle.clear();
    }

    /// The server may be another one than before, and may lack what the last one had.
    pub(super) fn renew(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// A number that is another one after [`Pool::renew`].
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// A connection outside of the count, to a server that can be written.
    pub(super) fn connect(&self) -> Answer<Talk> {
        match self.try_connect() {
            Ok(talk) => {
                self.reached.store(true, Ordering::Relaxed);
                self.renew();
                Ok(talk)
            }
            Err(trouble) => Err(match fault(trouble) {
                // What worked once will work again: a password is being changed, a server replaced.
                StoreError::Unusable(why) if self.reached.load(Ordering::Relaxed) => {
                    StoreError::Unavailable(why)
                }
                other => other,
            }),
        }
    }

    fn try_connect(&self) -> Result<Talk, Trouble> {
        let mut last = Trouble::Link("there is no host to connect to".to_owned());
        for host in &self.address.hosts {
            let address = Address { hosts: vec![host.clone()], ..self.address.clone() };
            match hello::connect(&address).and_then(|talk| self.writable(talk)) {
                Ok(talk) => return Ok(talk),
                Err(trouble) => last = trouble,
            }
        }
        Err(last)
    }

    /// A standby cannot be written; another of the hosts may be.
    fn writable(&self, mut talk: Talk) -> Result<Talk, Trouble> {
        let mut script = Script::default();
        script.ask("select pg_is_in_recovery()")?;
        let replies = talk.run(script, tick() + self.address.connect_timeout)?;
        let row = replies.first().and_then(|r| r.rows.first());
        match row.and_then(|row| row.get(0).flatten()) {
            Some([0]) => Ok(talk),
            _ => Err(Trouble::Link("the server is a standby and takes no changes".to_owned())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let until = tick() + LEAVE_MAX;
        let idle = std::mem::take(&mut self.lock().idle);
        idle.into_iter().for_each(|(mut talk, _)| talk.leave(until));
    }
}
