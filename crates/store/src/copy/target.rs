//! What is copied into.

use std::collections::BTreeMap;

use armarius_core::command::{Call, Command};
use armarius_core::decide;
use armarius_core::event::{Commit, seal};
use armarius_core::rows::Counter;
use armarius_core::text::Name;
use armarius_core::view::{CommitHead, Stop, View};
use armarius_engine::seam::{Database as _, Store, StoreError};

use super::Place;
use crate::postgres::{self, Database, default_place};
use crate::sqlite::{self, Sqlite};
use crate::world::{Piece, Sums};

/// Rounds of loading before the last commit.
const LOADS_MAX: usize = 100;
/// Who raises the epoch.
const ACTOR: &str = "armarius";

/// A store that serves nothing else until the copy is done.
pub(super) enum Target {
    Sqlite(Box<Sqlite>),
    Postgres(Database),
}

impl Target {
    pub(super) fn open(to: &Place) -> Result<Self, StoreError> {
        Ok(match to {
            Place::Sqlite(path) => {
                let options = sqlite::Options { unfinished: true, ..sqlite::Options::default() };
                Self::Sqlite(Box::new(Sqlite::open(path, options)?))
            }
            Place::Postgres(url) => {
                let options = postgres::Options { unfinished: true, ..Default::default() };
                Self::Postgres(Database::open(url, options)?)
            }
        })
    }

    pub(super) fn shards(&self) -> u16 {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(database) => database.shards(),
        }
    }

    /// The shard a collection gets.
    pub(super) fn place(&self, collection: &str) -> u16 {
        default_place(collection, self.shards())
    }

    /// Begins, or goes on: says how many pages are there.
    pub(super) fn begin(&self, note: &Note) -> Result<usize, StoreError> {
        let (found, empty) = match self {
            Self::Sqlite(store) => store.copy_note()?,
            Self::Postgres(database) => database.copy_note()?,
        };
        match found {
            Some(found) => note.pages_in(&found),
            None if empty => Ok(0),
            None => Err(StoreError::Unusable("the target already holds something".to_owned())),
        }
    }

    /// Writes a page, and that it is there.
    pub(super) fn write(&mut self, shard: u16, page: &View, note: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.import(page, note),
            Self::Postgres(database) => database.import(shard, page, note),
        }
    }

    /// Removes the commits of an earlier try.
    pub(super) fn drop_commits(&mut self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.drop_commits(),
            Self::Postgres(database) => database.drop_commits(),
        }
    }

    /// Writes commits behind those that are there.
    pub(super) fn seal(
        &mut self,
        shard: u16,
        commits: &[Commit],
        counters: &BTreeMap<Counter, i64>,
    ) -> Result<(), StoreError> {
        match self {
            // Its running numbers are rows of their own.
            Self::Sqlite(store) => store.import_commits(commits),
            Self::Postgres(database) => database.import_commits(shard, commits, counters),
        }
    }

    /// Keeps commits of the source that could not stay what they are.
    pub(super) fn keep_past(&mut self, past: &[(u16, Commit)]) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.import_past(past),
            Self::Postgres(database) => database.import_past(past),
        }
    }

    /// Writes the running numbers, where they are rows of their own.
    pub(super) fn count(
        &mut self,
        counters: &BTreeMap<Counter, i64>,
        note: &str,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => {
                let mut page = View::new(0);
                for (counter, value) in counters {
                    page.counters.put(*counter, *value);
                }
                store.import(&page, note)
            }
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Reads everything back: it verifies, and its rows are added up.
    pub(super) fn sum_up(&self, piece: Piece, sums: &mut Sums) -> Result<(), StoreError> {
        for shard in 0..self.shards() {
            let mut take = |world: crate::World| {
                world.sum_up(shard, sums);
                Ok(())
            };
            match self {
                Self::Sqlite(store) => {
                    store.verify_everything()?;
                    store.rows_in(piece, &mut take)?;
                    store.commits_in(piece, &mut take)?;
                }
                Self::Postgres(database) => {
                    database.shard(shard)?.verify_everything()?;
                    database.rows_in(shard, piece, &mut take)?;
                    database.commits_in(shard, piece, &mut take)?;
                }
            }
        }
        Ok(())
    }

    /// Raises the epoch in every shard, and lets the store be used.
    pub(super) fn finish(&mut self) -> Result<(), StoreError> {
        for shard in 0..self.shards() {
            match self {
                Self::Sqlite(store) => {
                    store.reread_head()?;
                    raise_epoch(store.as_mut(), shard)?;
                }
                Self::Postgres(database) => raise_epoch(&mut database.shard(shard)?, shard)?,
            }
        }
        match self {
            Self::Sqlite(store) => store.copy_done(),
            Self::Postgres(database) => database.copy_done(),
        }
    }
}

/// What is noted in the target while a copy is under way: whose, in pages of which size, and how
/// many of them are there. A try that goes on must make the same pages.
pub(super) struct Note {
    pub(super) source: String,
    pub(super) page_rows: usize,
}

impl Note {
    pub(super) fn text(&self, pages: usize) -> String {
        format!("{} {} {pages}", self.source, self.page_rows)
    }

    fn pages_in(&self, found: &str) -> Result<usize, StoreError> {
        let unusable = |text: &str| StoreError::Unusable(text.to_owned());
        let Some(rest) = found.strip_prefix(&self.source) else {
            return Err(unusable(
                "a copy of another archive into this store was begun and not finished",
            ));
        };
        let (size, pages) = rest.trim().split_once(' ').unwrap_or_default();
        let pages = pages.parse().ok().filter(|_| size.parse() == Ok(self.page_rows));
        pages.ok_or_else(|| {
            unusable("a copy into this store was begun by another version; empty it, then copy")
        })
    }
}

fn raise_epoch(store: &mut dyn Store, shard: u16) -> Result<(), StoreError> {
    let mut view = View::new(shard);
    let now = store.begin(&mut view)?;
    let actor = Name::trusted(ACTOR);
    let call = Call { now, actor, chance: 0, idem: None, command: Command::RaiseEpoch };
    for _ in 0..LOADS_MAX {
        match decide(&mut view, &call) {
            Ok(_) => {
                view.counters.put(Counter::Clock, now.0);
                view.keep();
                let CommitHead { n, seal: prev } = view.head;
                return store.commit(&view, &seal(n + 1, now, prev, &view.events));
            }
            Err(Stop::Need(needs)) => store.load(&needs, &mut view)?,
            Err(Stop::Refuse(refusal)) => return Err(StoreError::Corrupt(refusal.to_string())),
        }
    }
    Err(StoreError::Corrupt("the epoch cannot be raised".to_owned()))
}
