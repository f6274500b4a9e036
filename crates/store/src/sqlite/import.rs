//! Takes in what is copied from another store.

use armarius_core::event::Commit;
use armarius_core::view::{CommitHead, View};
use armarius_engine::seam::StoreError;

use super::Sqlite;
use super::commit;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::rows::event;
use crate::refs;

/// The note of a copy that is not finished.
const NOTE: &str = "select value from meta where key = 'copy'";
const PUT_NOTE: &str = "insert or replace into meta (key, value) values ('copy', ?1)";
const DROP_NOTE: &str = "delete from meta where key = 'copy'";
const PAST: &str = "create table if not exists past (shard integer not null, n integer not null,
    at integer not null, prev blob not null, seal blob not null, refs blob not null,
    primary key (shard, n)) strict";
const PUT_PAST: &str =
    "insert or ignore into past (shard, n, at, prev, seal, refs) values (?1, ?2, ?3, ?4, ?5, ?6)";

impl Sqlite {
    /// The note of an unfinished copy, and whether the file holds nothing.
    pub(crate) fn copy_note(&self) -> Result<(Option<String>, bool), StoreError> {
        let note = self.desk.first("meta", NOTE, (), |cells| cells.str(0).map(str::to_owned))?;
        Ok((note, self.head.n == 0))
    }

    /// Writes the rows and events of a page, and how far the copy is, in one transaction.
    pub(crate) fn import(&mut self, page: &View, note: &str) -> Result<(), StoreError> {
        self.together(|desk| {
            commit::write_rows(desk, page)?;
            event::write_events(desk, page)?;
            desk.run(PUT_NOTE, (note,)).map(drop)
        })
    }

    /// Removes the commits of an earlier try.
    pub(crate) fn drop_commits(&mut self) -> Result<(), StoreError> {
        self.together(|desk| {
            desk.conn.execute_batch("delete from \"commit\"").or_fault()?;
            desk.conn.execute_batch("drop table if exists past").or_fault()
        })?;
        self.head = CommitHead::default();
        // What was noted about them must not be missed at the next start.
        self.lock.note_commit(0);
        Ok(())
    }

    /// Writes commits behind those that are there.
    pub(crate) fn import_commits(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        self.together(|desk| {
            commits.iter().try_for_each(|commit| event::write_commit(desk, commit))
        })
    }

    /// Writes commits of the chains that could not stay what they were.
    pub(crate) fn import_past(&mut self, past: &[(u16, Commit)]) -> Result<(), StoreError> {
        self.together(|desk| {
            desk.conn.execute_batch(PAST).or_fault()?;
            for (shard, c) in past {
                let refs = refs::to_bytes(&c.events);
                desk.run(PUT_PAST, (shard, c.n, c.at.0, c.prev, c.seal, refs))?;
            }
            Ok(())
        })
    }

    /// The copy is finished: the file may be used.
    pub(crate) fn copy_done(&self) -> Result<(), StoreError> {
        self.desk.run(DROP_NOTE, ()).map(drop)
    }

    /// Notes which commit is the newest, after it was written from outside.
    pub(crate) fn reread_head(&mut self) -> Result<(), StoreError> {
        self.head = event::commit_head(&self.desk)?;
        Ok(())
    }

    fn together(&mut self, write: impl FnOnce(&Desk) -> Answer<()>) -> Answer<()> {
        self.desk.run("begin immediate", ())?;
        let written = write(&self.desk).and_then(|()| self.desk.run("commit", ()).map(drop));
        if written.is_err() {
            self.desk.run("rollback", ()).ok();
            self.desk.words.rolled_back();
            return written;
        }
        self.desk.words.committed();
        self.checkpoint.after_commit(&self.desk).map(drop)
    }
}
