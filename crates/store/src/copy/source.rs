//! What is copied: read in pieces, never as a whole.

use armarius_core::ids::{BatchId, CollectionId, ItemId, TaskId};
use armarius_core::view::{Need, View};
use armarius_engine::seam::{Database as _, StoreError};

use super::Place;
use crate::chain::{Hashes, Verified};
use crate::postgres::{self, Database};
use crate::sqlite::{self, Sqlite};
use crate::world::{Piece, Take, World};

/// A store that nobody writes to meanwhile.
pub(super) enum Source {
    Sqlite(Box<Sqlite>),
    Postgres(Database),
}

impl Source {
    pub(super) fn open(from: &Place) -> Result<Self, StoreError> {
        Ok(match from {
            Place::Sqlite(path) => {
                Self::Sqlite(Box::new(Sqlite::open(path, sqlite::Options::default())?))
            }
            Place::Postgres(url) => {
                Self::Postgres(Database::open(url, postgres::Options::default())?)
            }
        })
    }

    /// A name that no other store has.
    pub(super) fn name(&self) -> Result<String, StoreError> {
        match self {
            Self::Sqlite(store) => store.incarnation(),
            Self::Postgres(database) => Ok(database.incarnation().to_owned()),
        }
    }

    pub(super) fn shards(&self) -> u16 {
        match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(database) => database.shards(),
        }
    }

    /// Recomputes the hashes and seals of a shard.
    pub(super) fn verify(&self, shard: u16) -> Result<Verified, StoreError> {
        match self {
            Self::Sqlite(store) => store.verify_everything(),
            Self::Postgres(database) => database.shard(shard)?.verify_everything(),
        }
    }

    /// What is small and defines the rest of a shard.
    pub(super) fn definitions(&self, shard: u16) -> Result<World, StoreError> {
        match self {
            Self::Sqlite(store) => store.definitions(),
            Self::Postgres(database) => database.definitions(shard),
        }
    }

    /// Every row and every event of a shard; the same pieces in the same order each time.
    pub(super) fn rows_in(
        &self,
        shard: u16,
        piece: Piece,
        take: &mut Take<'_>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.rows_in(piece, take),
            Self::Postgres(database) => database.rows_in(shard, piece, take),
        }
    }

    /// Every commit of a shard, in order.
    pub(super) fn commits_in(
        &self,
        shard: u16,
        piece: Piece,
        take: &mut Take<'_>,
    ) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(store) => store.commits_in(piece, take),
            Self::Postgres(database) => database.commits_in(shard, piece, take),
        }
    }

    pub(super) fn of_items(
        &self,
        shard: u16,
        ids: &[ItemId],
    ) -> Result<Vec<(ItemId, CollectionId)>, StoreError> {
        match self {
            Self::Sqlite(store) => store.of_items(ids),
            Self::Postgres(database) => database.of_items(shard, ids),
        }
    }

    pub(super) fn of_tasks(
        &self,
        shard: u16,
        ids: &[TaskId],
    ) -> Result<Vec<(TaskId, CollectionId)>, StoreError> {
        match self {
            Self::Sqlite(store) => store.of_tasks(ids),
            Self::Postgres(database) => database.of_tasks(shard, ids),
        }
    }

    pub(super) fn of_batches(
        &self,
        shard: u16,
        ids: &[BatchId],
    ) -> Result<Vec<(BatchId, CollectionId)>, StoreError> {
        match self {
            Self::Sqlite(store) => store.of_batches(ids),
            Self::Postgres(database) => database.of_batches(shard, ids),
        }
    }

    /// The hashes of some events of a shard.
    pub(super) fn hashes_of(
        &self,
        shard: u16,
        refs: &[(ItemId, i64)],
    ) -> Result<Hashes, StoreError> {
        match self {
            Self::Sqlite(store) => store.hashes_of(refs),
            Self::Postgres(database) => database.hashes_of(shard, refs),
        }
    }

    /// Some rows of another shard, by key; nothing where there is only one.
    pub(super) fn some(&self, shard: u16, needs: &[Need]) -> Result<Option<View>, StoreError> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(database) => database.some(shard, needs).map(Some),
        }
    }
}
