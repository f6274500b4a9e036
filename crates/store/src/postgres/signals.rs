//! News of commits: a hint, so that others need not ask so often.
//!
//! A notification inside a commit would make all commits of the database wait for each other, so it
//! is sent afterwards, on a connection of its own, and several are sent as one.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use armarius_engine::seam::{Signals, StoreError};

use super::fault::Answer;
use super::pool::Pool;
use super::wire::{Kind, Script, Talk};
use crate::clock::tick;

/// What is said at once is said together.
const GATHER: Duration = Duration::from_millis(5);
/// How long a notification may take before its connection is given up.
const TELL_MAX: Duration = Duration::from_secs(5);
/// After trouble the next try waits.
const PAUSE: Duration = Duration::from_secs(1);

/// Tells others about commits, from a thread of its own.
#[derive(Debug)]
pub(super) struct Ringer {
    pool: Weak<Pool>,
    /// Shards to be told about, one bit each.
    rung: Arc<AtomicU64>,
    wake: SyncSender<()>,
    voice: String,
}

impl Ringer {
    pub(super) fn new(pool: &Arc<Pool>, voice: String) -> Self {
        let (wake, woken) = sync_channel(1);
        let rung = Arc::new(AtomicU64::new(0));
        let teller = Teller {
            pool: Arc::downgrade(pool),
            rung: Arc::clone(&rung),
            voice: voice.clone(),
            talk: None,
        };
        // Without a thread nobody is told, and polling stands behind it.
        let thread = thread::Builder::new().name("armarius-ringer".to_owned());
        thread.spawn(move || teller.run(&woken)).ok();
        Self { pool: Arc::downgrade(pool), rung, wake, voice }
    }

    /// Who speaks.
    pub(super) fn voice(&self) -> &str {
        &self.voice
    }

    /// Notes that a shard has news. Never waits.
    pub(super) fn ring(&self, shard: u16) {
        if self.pool.strong_count() > 0 {
            self.rung.fetch_or(1 << (shard % 64), Ordering::Relaxed);
            // A full channel means that the thread has been woken already.
            self.wake.try_send(()).ok();
        }
    }
}

/// The thread's side.
struct Teller {
    pool: Weak<Pool>,
    rung: Arc<AtomicU64>,
    voice: String,
    talk: Option<Talk>,
}

impl Teller {
    /// Tells until the ringer is gone.
    fn run(mut self, woken: &Receiver<()>) {
        while woken.recv().is_ok() {
            thread::sleep(GATHER);
            let shards = self.rung.swap(0, Ordering::Relaxed);
            let Some(pool) = self.pool.upgrade() else { return };
            if shards != 0 && self.tell(&pool, shards).is_err() {
                self.talk = None;
                thread::sleep(PAUSE);
            }
        }
    }

    fn tell(&mut self, pool: &Pool, shards: u64) -> Answer<()> {
        let talk = match &mut self.talk {
            Some(talk) => talk,
            none @ None => none.insert(pool.connect()?),
        };
        let mut script = Script::default();
        let text = format!("{} {shards:x}", self.voice);
        script.with(Kind::Text, channel(pool))?.with(Kind::Text, text)?;
        script.ask("select pg_notify($1, $2)")?;
        talk.run(script, tick() + TELL_MAX)?;
        Ok(())
    }
}

/// Listens to others, on a connection of its own.
#[derive(Debug)]
pub(super) struct Listener {
    pool: Arc<Pool>,
    shards: u16,
    /// Who not to listen to: what this server commits it knows.
    own_voice: String,
    talk: Option<Talk>,
}

impl Listener {
    pub(super) fn new(pool: Arc<Pool>, shards: u16, own_voice: String) -> Self {
        Self { pool, shards, own_voice, talk: None }
    }

    fn listen(&mut self) -> Answer<Talk> {
        let mut talk = self.pool.connect()?;
        let channel = channel(&self.pool);
        talk.say(&format!("listen \"{channel}\""), tick() + TELL_MAX)?;
        Ok(talk)
    }
}

impl Signals for Listener {
    fn wait(&mut self, patience: Duration) -> Result<Vec<u16>, StoreError> {
        let until = tick() + patience;
        let Some(mut talk) = self.talk.take() else {
            self.talk = Some(self.listen()?);
            // Whatever was told before was not heard.
            return Ok((0..self.shards).collect());
        };
        talk.listen(until)?;
        let told: Vec<String> = talk.told.drain(..).collect();
        self.talk = Some(talk);
        let others = told.iter().filter_map(|text| text.split_once(' '));
        let others = others.filter(|(voice, _)| *voice != self.own_voice);
        let bits = others.filter_map(|(_, bits)| u64::from_str_radix(bits, 16).ok());
        let bits = bits.fold(0, |all, one| all | one);
        let shards = (0..self.shards).filter(|shard| bits >> (shard % 64) & 1 == 1);
        Ok(shards.collect::<BTreeSet<_>>().into_iter().collect())
    }
}

/// The channel of a schema.
fn channel(pool: &Pool) -> &str {
    &pool.address.schema
}
