//! What is known about every shard: its newest commit, its best ready heads, what is due.
//!
//! It is filled by the lanes after their own commits and by looks at all shards at once. It only
//! says where to try first and when to look: whether there is work is decided under the shard's
//! lock.

use std::collections::BTreeMap;
use std::time::Duration;

use armarius_core::command::Claim;
use armarius_core::ids::Time;
use armarius_core::rows::Scope;
use armarius_core::task::State;
use armarius_core::text::Name;
use armarius_core::view::View;

use crate::options::{AWAY_MIN, GLANCE};
use crate::order::Tour;
use crate::seam::{Head, Heads};

/// Priority of a head nobody has looked at.
const UNSEEN: i32 = 0;

/// All shards.
#[derive(Debug)]
pub(super) struct Board {
    shards: Vec<Post>,
    /// Counts rings of all shards.
    rings: u64,
    /// Looks that have begun, and the latest that succeeded.
    looks: u64,
    done: u64,
    /// When each collection was last granted something, as a running number.
    served: BTreeMap<Name, u64>,
    turns: u64,
    /// Since when looks fail.
    away: Option<Duration>,
}

/// One shard.
#[derive(Clone, Debug, Default)]
struct Post {
    /// The newest commit known.
    n: i64,
    ready: BTreeMap<Name, i32>,
    /// The newest moment at which there may be more work than before.
    ring: u64,
    /// Looks that had begun when its lane last told of it.
    told: u64,
    /// The newest commit its lane has seen, and when it last looked.
    seen: (i64, Duration),
    /// The commit at which something was overdue in the latest look.
    overdue: Option<i64>,
    /// Live leases are to get a fresh term before any is judged.
    refresh: bool,
}

impl Board {
    pub(super) fn new(shards: usize) -> Self {
        // Whoever comes first has tried no shard: there may be work everywhere.
        let post = Post { ring: 1, seen: (-1, Duration::ZERO), ..Post::default() };
        Self {
            shards: vec![post; shards],
            rings: 1,
            looks: 0,
            done: 0,
            served: BTreeMap::new(),
            turns: 0,
            away: None,
        }
    }

    /// A new claim's tour.
    pub(super) fn tour(&self, shards: Option<Vec<u16>>) -> Tour {
        Tour {
            shards,
            tried: vec![0; self.shards.len()],
            skipped: Vec::new(),
            patient: false,
            came: self.looks,
            busy: None,
        }
    }

    /// The shard a claim should be tried in next: the best head first, and of equal ones that of
    /// the collection that was served longest ago.
    pub(super) fn next(&self, claim: &Claim, tour: &Tour) -> Option<u16> {
        let mut best: Option<((i32, u64), u16)> = None;
        for (shard, post) in (0..).zip(&self.shards) {
            let tried = tour.tried.get(usize::from(shard)).copied().unwrap_or(0);
            let allowed = tour.shards.as_ref().is_none_or(|s| s.contains(&shard));
            if !allowed || tried >= post.ring || tour.skipped.contains(&shard) {
                continue;
            }
            let wanted =
                |name: &Name| claim.collections.is_empty() || claim.collections.contains(name);
            for (name, behind) in post.ready.iter().filter(|(name, _)| wanted(name)) {
                let key = (*behind, self.served.get(name).copied().unwrap_or(0));
                if best.is_none_or(|(b, _)| key < b) {
                    best = Some((key, shard));
                }
            }
        }
        best.map(|(_, shard)| shard)
    }

    /// A claim goes to a shard: what rings from now on, it has not seen.
    pub(super) fn sent(&self, tour: &mut Tour, shard: u16) {
        let ring = self.shards.get(usize::from(shard)).map_or(0, |p| p.ring);
        if let Some(tried) = tour.tried.get_mut(usize::from(shard)) {
            *tried = ring;
        }
    }

    /// Whether all shards were looked at since a claim came.
    pub(super) fn is_fresh(&self, tour: &Tour) -> bool {
        self.done > tour.came
    }

    /// A collection was granted something.
    pub(super) fn served(&mut self, collection: &Name) {
        self.turns += 1;
        self.served.insert(collection.clone(), self.turns);
    }

    /// There may be more work in a shard than before.
    pub(super) fn ring(&mut self, shard: u16) {
        self.rings += 1;
        let rings = self.rings;
        if let Some(post) = self.shards.get_mut(usize::from(shard)) {
            post.ring = rings;
        }
    }

    /// Notes the tasks that a lane's commit has put into queues; says whether there were any.
    pub(super) fn note(&mut self, shard: u16, view: &View) -> bool {
        let Some(post) = self.shards.get_mut(usize::from(shard)) else { return false };
        let mut any = false;
        let mut last = None;
        for (id, rank, _) in view.ready.changes().filter(|(_, _, entry)| entry.is_some()) {
            any = true;
            // The first of a queue is its best.
            if last.replace(*id) == Some(*id) {
                continue;
            }
            let queue = view.queues.get(id).ok().flatten();
            let home = queue.and_then(|q| view.collections.get(&q.collection).ok().flatten());
            if let Some(home) = home {
                let best = post.ready.entry(home.name.clone()).or_insert(rank.behind);
                *best = rank.behind.min(*best);
            }
        }
        any
    }

    /// A lane tells what its view knows; its transaction has ended.
    pub(super) fn tell(&mut self, shard: u16, view: &View, clock: Duration) {
        let looks = self.looks;
        let Some(post) = self.shards.get_mut(usize::from(shard)) else { return };
        post.ready = heads(view, &post.ready);
        post.n = view.head.n;
        post.told = looks;
        post.seen = (view.head.n, clock);
    }

    /// Whether others have committed since a lane looked.
    pub(super) fn has_moved(&self, shard: u16, n: i64) -> bool {
        self.shards.get(usize::from(shard)).is_some_and(|p| p.n > n)
    }

    /// A look begins; its number.
    pub(super) fn begin_look(&mut self) -> u64 {
        self.looks += 1;
        self.looks
    }

    /// A look failed.
    pub(super) fn lost(&mut self, clock: Duration) {
        self.away.get_or_insert(clock);
    }

    /// What a look found; says which lanes should look for themselves.
    pub(super) fn looked(
        &mut self,
        look: u64,
        heads: &Heads,
        clock: Duration,
        somebody_waits: bool,
    ) -> Vec<u16> {
        let away = self.away.take().map(|since| clock.saturating_sub(since));
        let was_away = away.is_some_and(|span| span >= AWAY_MIN);
        self.done = look;
        let mut wake = Vec::new();
        for (shard, (post, head)) in (0..).zip(self.shards.iter_mut().zip(&heads.shards)) {
            if post.told >= look {
                // Its lane has told of something newer meanwhile.
                continue;
            }
            // While nobody was in reach nobody could renew. If somebody else has been at work
            // since, it is their business.
            post.refresh |= was_away && post.n == head.n;
            let moved = post.n != head.n;
            post.n = head.n;
            post.ready = head.ready.iter().cloned().collect();
            if moved {
                self.rings += 1;
                post.ring = self.rings;
            }
            if post.wants_lane(head, heads.now, moved && somebody_waits, clock) {
                wake.push(shard);
            }
        }
        wake
    }

    /// Whether leases may be judged, or must get a fresh term first.
    pub(super) fn mercy(&self, shard: u16) -> Mercy {
        let refresh = self.shards.get(usize::from(shard)).is_some_and(|p| p.refresh);
        match (refresh, self.away) {
            (true, _) => Mercy::Refresh,
            (false, Some(_)) => Mercy::Wait,
            (false, None) => Mercy::None,
        }
    }

    /// Live leases have their fresh term.
    pub(super) fn refreshed(&mut self, shard: u16) {
        if let Some(post) = self.shards.get_mut(usize::from(shard)) {
            post.refresh = false;
        }
    }
}

/// How leases are to be judged after the database was out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mercy {
    /// By their time.
    None,
    /// Not now: nobody knows yet whether they could be renewed.
    Wait,
    /// They could not be renewed: they get a fresh term.
    Refresh,
}

impl Post {
    /// Whether its lane should look for itself: somebody waits for work that came from elsewhere;
    /// something is overdue and nobody has seen to it since the last look; or its schedules may
    /// have changed long ago.
    fn wants_lane(&mut self, head: &Head, now: Time, work: bool, clock: Duration) -> bool {
        let was_overdue = self.overdue.take();
        self.overdue = head.due.filter(|due| *due <= now).map(|_| head.n);
        let neglected = self.overdue.is_some() && was_overdue == self.overdue;
        let (seen, at) = self.seen;
        let unseen =
            seen != head.n && head.n > 0 && (seen < 0 || clock.saturating_sub(at) >= GLANCE);
        let work = work && !self.ready.is_empty();
        if unseen || neglected {
            // Once is enough, also if the lane cannot.
            self.seen.1 = clock;
        }
        work || neglected || unseen || self.refresh
    }
}

/// The best head of each collection with tasks in open queues, as far as a view knows; what it does
/// not know stays as it was.
fn heads(view: &View, before: &BTreeMap<Name, i32>) -> BTreeMap<Name, i32> {
    let mut found: BTreeMap<Name, i32> = BTreeMap::new();
    for (id, queue) in view.queues.iter() {
        if queue.counts[State::Ready.index()] == 0 {
            continue;
        }
        let scopes =
            [Scope::Collection(queue.collection), Scope::Flow(queue.flow), Scope::Step(*id)];
        let is_held = |scope: &Scope| view.hold_scopes.get(scope).is_ok_and(|hold| hold.is_some());
        let Ok(Some(home)) = view.collections.get(&queue.collection) else { continue };
        if scopes.iter().any(is_held) {
            continue;
        }
        let behind = match view.ready.first(id, 1) {
            Ok(mut ranks) => match ranks.next() {
                Some((rank, ())) => rank.behind,
                // Those that are ready wait for a slot or for their time.
                None => continue,
            },
            Err(_) => before.get(&home.name).copied().unwrap_or(UNSEEN),
        };
        let best = found.entry(home.name.clone()).or_insert(behind);
        *best = behind.min(*best);
    }
    found
}
