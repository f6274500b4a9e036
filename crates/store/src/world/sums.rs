//! Sums over the rows of each table of each shard, in whatever order they come: two stores whose
//! sums are equal hold the same rows, and neither has to be held in memory.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use armarius_core::event::digest;

/// How many rows there are, and the sum of their digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    rows: u64,
    digests: [u64; 4],
}

/// The sums of each shard and table. A table without rows is not there.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    sums: BTreeMap<(u16, &'static str), Sum>,
    text: String,
}

impl Sums {
    pub(crate) fn add_table<K: Debug, R: Debug>(
        &mut self,
        shard: u16,
        table: &'static str,
        rows: &BTreeMap<K, R>,
    ) {
        for (key, row) in rows {
            self.add(shard, table, &(key, row));
        }
    }

    pub(crate) fn add_list<P: Debug, K: Debug, R: Debug>(
        &mut self,
        shard: u16,
        list: &'static str,
        owner: &P,
        rows: &BTreeMap<K, R>,
    ) {
        for (key, row) in rows {
            self.add(shard, list, &(owner, key, row));
        }
    }

    fn add(&mut self, shard: u16, table: &'static str, row: &dyn Debug) {
        self.text.clear();
        // Writing into a text cannot fail.
        write!(self.text, "{row:?}").ok();
        let hash = digest(&self.text);
        let sum = self.sums.entry((shard, table)).or_default();
        sum.rows += 1;
        for (lane, bytes) in sum.digests.iter_mut().zip(hash.chunks_exact(8)) {
            let bytes = bytes.first_chunk().copied().unwrap_or_default();
            *lane = lane.wrapping_add(u64::from_be_bytes(bytes));
        }
    }

    /// How many rows a table has in all shards.
    pub(crate) fn rows(&self, table: &str) -> u64 {
        self.sums.iter().filter(|((_, t), _)| *t == table).map(|(_, sum)| sum.rows).sum()
    }

    /// How many rows a table has in one shard.
    pub(crate) fn rows_in(&self, shard: u16, table: &'static str) -> u64 {
        self.sums.get(&(shard, table)).map_or(0, |sum| sum.rows)
    }

    /// What is different, one line for each table.
    pub(crate) fn differences(&self, found: &Self) -> Vec<String> {
        let places: std::collections::BTreeSet<_> =
            self.sums.keys().chain(found.sums.keys()).copied().collect();
        let mut out = Vec::new();
        for (shard, table) in places {
            let at = |sums: &Self| sums.sums.get(&(shard, table)).copied().unwrap_or_default();
            let (wanted, found) = (at(self), at(found));
            if wanted.rows != found.rows {
                let (wanted, found) = (wanted.rows, found.rows);
                out.push(format!("{table} of shard {shard}: {found} rows instead of {wanted}"));
            } else if wanted != found {
                out.push(format!("{table} of shard {shard}: rows are not what they were"));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rows: &[(i64, &str)]) -> Sums {
        let mut sums = Sums::default();
        for row in rows {
            sums.add_table(0, "page", &BTreeMap::from([*row]));
        }
        sums
    }

    #[test]
    fn the_order_does_not_matter_and_every_change_does() {
        let wanted = sums(&[(1, "a"), (2, "b")]);
        let found = |rows| wanted.differences(&sums(rows)).join(", ");
        assert_eq!(found(&[(2, "b"), (1, "a")]), "");
        assert_eq!(found(&[(1, "a")]), "page of shard 0: 1 rows instead of 2");
        assert_eq!(found(&[(1, "b"), (2, "a")]), "page of shard 0: rows are not what they were");
        assert_eq!(wanted.rows("page"), 2);
    }
}
