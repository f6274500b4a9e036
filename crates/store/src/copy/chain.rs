//! The commits of the target: each shard gets a chain that seals what it holds.

use std::collections::BTreeMap;

use armarius_core::event::{Commit, Hash, seal, seal_hashes};
use armarius_core::ids::{ItemId, Time};
use armarius_core::rows::Counter;
use armarius_engine::seam::StoreError;

use super::route::{Map, lost};
use super::source::Source;
use super::target::Target;
use crate::world::{Piece, Sums, World};

/// Events that one commit of a copy seals.
const COMMIT_EVENTS: usize = 5_000;

/// What is known when all rows are written.
pub(super) struct Written<'w> {
    /// Which shards of the source have commits.
    pub(super) committed: &'w [u16],
    /// The running numbers of each shard of the target.
    pub(super) counters: &'w [BTreeMap<Counter, i64>],
    /// The highest time of the source.
    pub(super) clock: Time,
    pub(super) piece: Piece,
}

/// Writes the chains of all shards, and adds their commits to what the target is to hold.
pub(super) fn write(
    source: &Source,
    map: &mut Map,
    target: &mut Target,
    written: &Written<'_>,
    wanted: &mut Sums,
) -> Result<(), StoreError> {
    target.drop_commits()?;
    let full: Vec<u16> =
        (0..target.shards()).filter(|shard| wanted.rows_in(*shard, "events") > 0).collect();
    // Where everything came from one shard and lands in one, its chain is taken over as it is.
    let whole = match (written.committed, full.as_slice()) {
        ([_], [to]) => Some(*to),
        _ => None,
    };
    let mut chains = Chains { target, written, wanted, open: BTreeMap::new() };
    for from in written.committed {
        source.commits_in(*from, written.piece, &mut |piece| match whole {
            Some(to) => chains.put(to, &Vec::from_iter(piece.commits.into_values())),
            None => chains.anew(source, map, *from, piece),
        })?;
    }
    chains.end(whole)
}

struct Chains<'c, 'w> {
    target: &'c mut Target,
    written: &'c Written<'w>,
    wanted: &'c mut Sums,
    open: BTreeMap<u16, Chain>,
}

/// The end of one shard's chain, and what is to be sealed next.
#[derive(Default)]
struct Chain {
    n: i64,
    prev: Hash,
    events: Vec<(ItemId, i64, Hash)>,
}

impl Chain {
    fn seal(&mut self, at: Time) -> Commit {
        let events = std::mem::take(&mut self.events);
        let commit = seal_hashes(self.n + 1, at, self.prev, events.into_iter());
        (self.n, self.prev) = (commit.n, commit.seal);
        commit
    }
}

impl Chains<'_, '_> {
    /// Parts the events of some commits, in the order they were committed, and keeps those commits
    /// beside the new chains.
    fn anew(
        &mut self,
        source: &Source,
        map: &mut Map,
        from: u16,
        piece: World,
    ) -> Result<(), StoreError> {
        let refs: Vec<(ItemId, i64)> =
            piece.commits.values().flat_map(|c| c.events.iter().copied()).collect();
        map.learn_items(source, from, refs.iter().map(|(item, _)| *item))?;
        let hashes = source.hashes_of(from, &refs)?;
        for (item, n) in refs {
            let hash = hashes.get(&(item, n)).copied();
            let hash = hash.ok_or_else(|| lost("an event of a commit", &(item, n)))?;
            let shard = map.item(item)?;
            let chain = self.open.entry(shard).or_default();
            chain.events.push((item, n, hash));
            if chain.events.len() >= COMMIT_EVENTS {
                let commit = chain.seal(self.written.clock);
                self.put(shard, &[commit])?;
            }
        }
        let past: Vec<(u16, Commit)> = piece.commits.into_values().map(|c| (from, c)).collect();
        self.target.keep_past(&past)
    }

    /// Seals what is left. A shard without events has one commit too: its running numbers count on
    /// from those of the source, or numbers would be given twice.
    fn end(&mut self, whole: Option<u16>) -> Result<(), StoreError> {
        let at = self.written.clock;
        for shard in (0..self.target.shards()).filter(|shard| Some(*shard) != whole) {
            let mut chain = self.open.remove(&shard).unwrap_or_default();
            if chain.n == 0 && chain.events.is_empty() {
                self.put(shard, &[seal(1, at, Hash::default(), &[])])?;
            } else if !chain.events.is_empty() {
                let commit = chain.seal(at);
                self.put(shard, &[commit])?;
            }
        }
        Ok(())
    }

    fn put(&mut self, shard: u16, commits: &[Commit]) -> Result<(), StoreError> {
        let none = BTreeMap::new();
        let counters = self.written.counters.get(usize::from(shard)).unwrap_or(&none);
        self.target.seal(shard, commits, counters)?;
        let commits = commits.iter().map(|c| (c.n, c.clone())).collect();
        World { commits, ..World::default() }.sum_up(shard, self.wanted);
        Ok(())
    }
}
