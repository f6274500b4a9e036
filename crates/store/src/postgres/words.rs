//! Names that repeat stand once per shard in the table `word`; rows hold their numbers.
//!
//! A number carries its shard in the upper 8 bits, so that it means the same to somebody who reads
//! several shards. Words are never changed or removed: what is known once stays right, as long as
//! the server is the same or has lost nothing.

use std::collections::{BTreeSet, HashMap};

use armarius_core::text::Name;
use armarius_core::view::View;

use super::fault::{Answer, corrupt};
use super::wire::Row;

/// Bits below the shard's number.
const SHARD_SHIFT: u32 = 24;
/// Words kept in memory; beyond it the memory starts anew.
const WORDS_KEPT_MAX: usize = 200_000;

/// The words somebody has met.
#[derive(Debug, Default)]
pub(super) struct Words {
    names: HashMap<i32, Name>,
    ids: HashMap<Name, Vec<i32>>,
    /// Added by a transaction that is not yet committed.
    fresh: Vec<(i32, Name)>,
}

/// Words of these shards with these texts, and the highest number of the first shard.
pub(super) const BY_TEXT: &str = "select w.id, w.text, null::integer
    from unnest($1::smallint[]) as s(shard) cross join unnest($2::text[]) as k(text)
    cross join lateral (select w.id, w.text from word as w
                        where w.shard = s.shard and w.text = k.text limit 1) as w
    union all
    select null, null, max(id) from word where shard = ($1::smallint[])[1]";
/// Words by number.
pub(super) const BY_ID: &str = "select w.id, w.text from unnest($1::integer[]) as k(id)
    cross join lateral (select w.id, w.text from word as w
                        where w.shard = (k.id >> 24)::smallint and w.id = k.id limit 1) as w";

impl Words {
    pub(super) fn name(&self, id: i32) -> Option<Name> {
        self.names.get(&id).cloned()
    }

    pub(super) fn knows(&self, name: &Name) -> bool {
        self.ids.contains_key(name)
    }

    pub(super) fn knows_id(&self, id: i32) -> bool {
        self.names.contains_key(&id)
    }

    /// The numbers of a name, one per shard that has it and was asked.
    pub(super) fn ids(&self, name: &Name) -> &[i32] {
        self.ids.get(name).map_or(&[], Vec::as_slice)
    }

    /// The number of a name that was learnt or added before.
    pub(super) fn id(&self, name: &Name) -> Answer<i64> {
        let id = self.ids.get(name).and_then(|ids| ids.first());
        id.map(|id| i64::from(*id)).ok_or_else(|| corrupt(format!("the word {name} has no number")))
    }

    /// Notes what was found: rows of number and text.
    pub(super) fn note(&mut self, rows: &[Row]) -> Answer<()> {
        if self.names.len() >= WORDS_KEPT_MAX && self.fresh.is_empty() {
            self.names.clear();
            self.ids.clear();
        }
        for row in rows {
            let id = row.get(0).flatten().and_then(super::cells::int_of);
            let Some(id) = id.and_then(|id| i32::try_from(id).ok()) else { continue };
            let text = row.get(1).flatten().and_then(|t| std::str::from_utf8(t).ok());
            let name = text.and_then(|t| Name::new(t).ok());
            let name = name.ok_or_else(|| corrupt(format!("table word, row {id}: is no name")))?;
            self.add(id, name);
        }
        Ok(())
    }

    /// Gives numbers to new names, above the highest of the shard.
    pub(super) fn number(
        &mut self,
        shard: u16,
        highest: Option<i64>,
        names: &[Name],
    ) -> Answer<&[(i32, Name)]> {
        let from = self.fresh.len();
        let first = i64::from(shard) << SHARD_SHIFT;
        let mut next = highest.unwrap_or(first);
        for name in names {
            next += 1;
            if next >= first + (1 << SHARD_SHIFT) {
                return Err(corrupt("table word: a shard has no numbers left for new words"));
            }
            let id =
                i32::try_from(next).map_err(|_| corrupt("table word: a number is too high"))?;
            self.fresh.push((id, name.clone()));
            self.add(id, name.clone());
        }
        Ok(self.fresh.get(from..).unwrap_or_default())
    }

    fn add(&mut self, id: i32, name: Name) {
        let ids = self.ids.entry(name.clone()).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
        self.names.insert(id, name);
    }

    /// Forgets everything, before anything was added.
    pub(super) fn forget(&mut self) {
        debug_assert!(self.fresh.is_empty(), "forgetting what is not committed");
        self.names.clear();
        self.ids.clear();
    }

    /// What was added is durable.
    pub(super) fn committed(&mut self) {
        self.fresh.clear();
    }

    /// What was added is gone again.
    pub(super) fn rolled_back(&mut self) {
        while let Some((id, name)) = self.fresh.pop() {
            self.names.remove(&id);
            self.ids.remove(&name);
        }
    }
}

/// The names a view's changes use that are not known yet.
pub(super) fn unknown(words: &Words, view: &View) -> Vec<Name> {
    let mut names: BTreeSet<&Name> = BTreeSet::new();
    let mut want = |name| {
        if !words.knows(name) {
            names.insert(name);
        }
    };
    view.holds.changes().filter_map(|c| c.1).for_each(|h| want(&h.owner));
    view.items.changes().filter_map(|c| c.1).for_each(|i| want(&i.kind));
    view.marks.changes().for_each(|((_, name), _)| want(name));
    view.leases.changes().filter_map(|c| c.1).for_each(|l| {
        want(&l.worker);
        want(&l.actor);
    });
    view.errands.changes().filter_map(|c| c.2).for_each(|e| want(&e.actor));
    view.events.iter().for_each(|e| {
        want(&e.name);
        want(&e.actor);
    });
    names.into_iter().cloned().collect()
}
