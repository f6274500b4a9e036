//! A database of several shards in memory, which several engines may share: the model of a shared
//! store, for tests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use armarius_core::event::Commit;
use armarius_core::ids::Time;
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::Wide;
use armarius_engine::seam::{
    Atlas, Database, Description, Head, Heads, Reader, Signals, Store, StoreError, Thing,
};

use super::{Memory, Shared, lock, read};
use crate::clock::Clock;
use crate::world::World;

/// Several shards in memory. Clones share them.
#[derive(Clone, Debug)]
pub struct Shards {
    inner: Arc<Inner>,
    clock: Clock,
}

#[derive(Debug)]
struct Inner {
    shards: Vec<Shard>,
    news: Mutex<News>,
    told: Condvar,
    /// Out of reach.
    away: AtomicBool,
    /// Transactions begun.
    begins: AtomicU64,
    /// Commits are not told: whoever shares this must look.
    silent: bool,
}

#[derive(Debug, Default)]
struct Shard {
    shared: Arc<Mutex<Shared>>,
    taken: Mutex<bool>,
    free: Condvar,
}

/// Shards with commits, each with the number of the telling.
#[derive(Debug, Default)]
struct News {
    count: u64,
    newest: Vec<(u16, u64)>,
}

impl Shards {
    /// Empty shards on a clock.
    #[must_use]
    pub fn new(shards: u16, clock: Clock) -> Self {
        Self::made(shards, clock, false)
    }

    /// Empty shards that tell nobody of their commits.
    #[must_use]
    pub fn silent(shards: u16, clock: Clock) -> Self {
        Self::made(shards, clock, true)
    }

    fn made(shards: u16, clock: Clock, silent: bool) -> Self {
        let inner = Inner {
            shards: (0..shards.max(1)).map(|_| Shard::default()).collect(),
            news: Mutex::default(),
            told: Condvar::new(),
            away: AtomicBool::new(false),
            begins: AtomicU64::new(0),
            silent,
        };
        Self { inner: Arc::new(inner), clock }
    }

    /// Everything a shard holds.
    #[must_use]
    pub fn dump(&self, shard: u16) -> World {
        self.shard(shard).map(|s| lock(&s.shared).world.clone()).unwrap_or_default()
    }

    /// How many transactions were begun, in all shards.
    #[must_use]
    pub fn begins(&self) -> u64 {
        self.inner.begins.load(Ordering::SeqCst)
    }

    /// Puts the database out of reach, or back.
    pub fn set_away(&self, away: bool) {
        self.inner.away.store(away, Ordering::SeqCst);
    }

    /// The shard of a collection: always the same for a name.
    #[must_use]
    pub fn place_of(&self, collection: &Name) -> u16 {
        // FNV-1a: short, and the same on every machine.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in collection.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        u16::try_from(hash % self.inner.shards.len() as u64).unwrap_or(0)
    }

    fn shard(&self, shard: u16) -> Result<&Shard, StoreError> {
        let found = self.inner.shards.get(usize::from(shard));
        found.ok_or_else(|| StoreError::Unusable(format!("there is no shard {shard}")))
    }

    fn reachable(&self) -> Result<(), StoreError> {
        if self.inner.away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("out of reach".to_owned()));
        }
        Ok(())
    }

    fn tell(&self, shard: u16) {
        if self.inner.silent {
            return;
        }
        let mut news = self.inner.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.count += 1;
        let count = news.count;
        news.newest.retain(|(s, _)| *s != shard);
        news.newest.push((shard, count));
        self.inner.told.notify_all();
    }
}

impl Database for Shards {
    fn shards(&self) -> u16 {
        u16::try_from(self.inner.shards.len()).unwrap_or(u16::MAX)
    }

    fn open(&self, shard: u16) -> Result<Box<dyn Store>, StoreError> {
        let shared = Arc::clone(&self.shard(shard)?.shared);
        let memory = Memory { shared, clock: self.clock.clone() };
        Ok(Box::new(Turn { database: self.clone(), memory, shard, mine: false }))
    }

    fn atlas(&self) -> Result<Box<dyn Atlas>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let shards = self.inner.shards.iter();
        let reader = |s: &Shard| -> Box<dyn Reader> {
            Box::new(read::MemoryReader::new(Arc::clone(&s.shared)))
        };
        Ok(Box::new(Wide::new(shards.map(reader).collect())))
    }

    fn signals(&self) -> Result<Option<Box<dyn Signals>>, StoreError> {
        if self.inner.silent {
            return Ok(None);
        }
        Ok(Some(Box::new(Ear { database: self.clone(), heard: 0 })))
    }

    fn describe(&self) -> Description {
        Memory::new().describe()
    }
}

impl Atlas for Shards {
    fn place(&mut self, collection: &Name) -> Result<u16, StoreError> {
        self.reachable()?;
        Ok(self.place_of(collection))
    }

    fn find(&mut self, thing: Thing) -> Result<Option<u16>, StoreError> {
        self.reachable()?;
        let here = |s: &Shard| {
            let world = &lock(&s.shared).world;
            match thing {
                Thing::Lease(id) => world.leases.contains_key(&id),
                Thing::Task(id) => world.tasks.contains_key(&id),
                Thing::Batch(id) => world.batches.contains_key(&id),
                Thing::Hold(id) => world.holds.contains_key(&id),
                Thing::Schedule(id) => world.schedules.contains_key(&id),
                Thing::Errand(id) => world.errands.get(&()).is_some_and(|e| e.contains_key(&id)),
            }
        };
        Ok((0..).zip(&self.inner.shards).find(|(_, s)| here(s)).map(|(n, _)| n))
    }

    fn heads(&mut self) -> Result<Heads, StoreError> {
        self.reachable()?;
        let shards = self.inner.shards.iter().map(|s| head(&lock(&s.shared))).collect();
        Ok(Heads { now: self.clock.now(), shards })
    }
}

fn head(shared: &Shared) -> Head {
    let Shared { world, derived } = shared;
    let errand = world.errands.get(&()).map(|_| Time::ZERO);
    let lease = derived.due_leases.get(&()).and_then(|l| l.keys().next()).map(|(t, _)| *t);
    let timer = world.timers.get(&()).and_then(|l| l.keys().next()).map(|(t, _)| *t);
    let hold = world.holds.values().filter_map(|h| h.until).min();
    let due = [errand, lease, timer, hold].into_iter().flatten().min();
    let mut ready: Vec<(Name, i32)> = Vec::new();
    for (queue, ranks) in &world.ready {
        let home = world.queues.get(queue).and_then(|q| world.collections.get(&q.collection));
        let (Some(home), Some(rank)) = (home, ranks.keys().next()) else { continue };
        match ready.iter_mut().find(|(name, _)| *name == home.name) {
            Some((_, behind)) => *behind = rank.behind.min(*behind),
            None => ready.push((home.name.clone(), rank.behind)),
        }
    }
    Head { n: world.head().n, due, ready }
}

/// The store of one shard: whoever has begun is alone until the end.
struct Turn {
    database: Shards,
    memory: Memory,
    shard: u16,
    mine: bool,
}

impl Turn {
    fn taken(&self) -> Result<(&Shard, MutexGuard<'_, bool>), StoreError> {
        let shard = self.database.shard(self.shard)?;
        Ok((shard, shard.taken.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn leave(&mut self) {
        if !std::mem::take(&mut self.mine) {
            return;
        }
        if let Ok((shard, mut taken)) = self.taken() {
            *taken = false;
            shard.free.notify_one();
        }
    }
}

impl Store for Turn {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        self.leave();
        self.database.reachable()?;
        let (shard, mut taken) = self.taken()?;
        while *taken {
            taken = shard.free.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken = true;
        drop(taken);
        self.mine = true;
        self.database.inner.begins.fetch_add(1, Ordering::SeqCst);
        self.memory.begin(view)
    }

    fn try_begin(&mut self, view: &mut View) -> Result<Option<Time>, StoreError> {
        self.leave();
        self.database.reachable()?;
        let (_, mut taken) = self.taken()?;
        if *taken {
            return Ok(None);
        }
        *taken = true;
        drop(taken);
        self.mine = true;
        self.database.inner.begins.fetch_add(1, Ordering::SeqCst);
        self.memory.begin(view).map(Some)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.memory.load(needs, view)
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        let reached = self.database.reachable();
        let done = reached.and_then(|()| self.memory.commit(view, commit));
        self.leave();
        if done.is_ok() {
            self.database.tell(self.shard);
        }
        done
    }

    fn abandon(&mut self) {
        self.leave();
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.memory.reader()
    }

    fn describe(&self) -> Description {
        self.memory.describe()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Hears of commits.
struct Ear {
    database: Shards,
    heard: u64,
}

impl Signals for Ear {
    fn wait(&mut self, patience: Duration) -> Result<Vec<u16>, StoreError> {
        let inner = &self.database.inner;
        let news = inner.news.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet = |news: &mut News| news.count <= self.heard;
        let (news, _) = inner
            .told
            .wait_timeout_while(news, patience, quiet)
            .unwrap_or_else(PoisonError::into_inner);
        let fresh = news.newest.iter().filter(|(_, n)| *n > self.heard).map(|(s, _)| *s).collect();
        self.heard = news.count;
        Ok(fresh)
    }
}
