//! Takes in what is copied from another store.

use std::collections::BTreeMap;

use armarius_core::event::Commit;
use armarius_core::rows::Counter;
use armarius_core::view::View;
use armarius_engine::seam::{Database as _, StoreError};

use super::cells::int_of;
use super::commit;
use super::database::Database;
use super::desk::{Desk, Mode};
use super::fault::{Answer, fault};
use super::rows::event;
use super::wire::{Cell, Kind, Script};

const NOTE: &str = "select value from meta where key = 'copy'";
const EMPTY: &str = "select count(*) from (select from \"commit\" limit 1) as c";
const PUT_NOTE: &str = "insert into meta (key, value) values ('copy', $1)
    on conflict (key) do update set value = excluded.value";
const DROP_NOTE: &str = "delete from meta where key = 'copy'";
const DROP_COMMITS: &str = "delete from \"commit\" where shard = $1";
const DROP_PAST: &str = "delete from past";
const PUT_PAST: &str = "insert into past (shard, n, at, prev, seal, refs)
    values ($1, $2, $3, $4, $5, $6) on conflict (shard, n) do nothing";

/// Commits written in one exchange.
const TOGETHER: usize = 500;

impl Database {
    /// The note of an unfinished copy, and whether the database holds nothing.
    pub(crate) fn copy_note(&self) -> Result<(Option<String>, bool), StoreError> {
        let mut desk = self.desk(0);
        desk.begin(Mode::Read, |_| Ok(()))?;
        let mut script = Script::default();
        script.ask(NOTE)?.ask(EMPTY)?;
        let replies = desk.run(script)?;
        let cell = |i: usize| {
            let row = replies.get(i).and_then(|r| r.rows.first());
            row.and_then(|row| row.get(0).flatten().map(<[u8]>::to_vec))
        };
        let note = cell(0).map(|text| String::from_utf8_lossy(&text).into_owned());
        let empty = cell(1).as_deref().and_then(int_of) == Some(0);
        Ok((note, empty))
    }

    /// Writes the rows and events of a page, and how far the copy is, in one transaction.
    pub(crate) fn import(&self, shard: u16, page: &View, note: &str) -> Result<(), StoreError> {
        let mut desk = self.desk(shard);
        desk.begin(Mode::Write, |_| Ok(()))?;
        commit::import(&mut desk, page)?;
        let mut script = Script::default();
        script.with(Kind::Text, note)?.ask(PUT_NOTE)?;
        end(&mut desk, script)
    }

    /// Removes the commits of an earlier try.
    pub(crate) fn drop_commits(&self) -> Result<(), StoreError> {
        for shard in 0..self.shards() {
            let mut desk = self.desk(shard);
            desk.begin(Mode::Write, |_| Ok(()))?;
            let mut script = Script::default();
            script.with(Kind::I2, i64::from(shard))?.ask(DROP_COMMITS)?;
            if shard == 0 {
                script.ask(DROP_PAST)?;
            }
            end(&mut desk, script)?;
        }
        Ok(())
    }

    /// Writes commits of a shard behind those that are there, with its running numbers.
    pub(crate) fn import_commits(
        &self,
        shard: u16,
        commits: &[Commit],
        counters: &BTreeMap<Counter, i64>,
    ) -> Result<(), StoreError> {
        let mut desk = self.desk(shard);
        desk.begin(Mode::Write, |_| Ok(()))?;
        let value = |counter: &Counter| Cell::from(counters.get(counter).copied());
        for some in commits.chunks(TOGETHER) {
            let mut script = Script::default();
            for commit in some {
                let counters: Vec<Cell<'_>> = Counter::ALL.iter().map(value).collect();
                event::write_commit(&mut script, shard, commit, counters)?;
            }
            desk.run(script)?;
        }
        end(&mut desk, Script::default())
    }

    /// Writes commits of the chains that could not stay what they were.
    pub(crate) fn import_past(&self, past: &[(u16, Commit)]) -> Result<(), StoreError> {
        let mut desk = self.desk(0);
        desk.begin(Mode::Write, |_| Ok(()))?;
        for some in past.chunks(TOGETHER) {
            let mut script = Script::default();
            for (from, c) in some {
                let refs = crate::refs::to_bytes(&c.events);
                script
                    .with(Kind::I2, i64::from(*from))?
                    .with(Kind::I8, c.n)?
                    .with(Kind::I8, c.at.0)?
                    .with(Kind::Bytes, &c.prev)?
                    .with(Kind::Bytes, &c.seal)?
                    .with(Kind::Bytes, &refs[..])?
                    .ask(PUT_PAST)?;
            }
            desk.run(script)?;
        }
        end(&mut desk, Script::default())
    }

    /// The copy is finished: the database may be used.
    pub(crate) fn copy_done(&self) -> Result<(), StoreError> {
        let mut desk = self.desk(0);
        desk.begin(Mode::Write, |_| Ok(()))?;
        let mut script = Script::default();
        script.ask(DROP_NOTE)?;
        end(&mut desk, script)
    }
}

fn end(desk: &mut Desk, mut script: Script) -> Answer<()> {
    script.ask("commit")?;
    desk.exchange(script, desk.pool.patience.commit).map_err(fault)?;
    desk.words.committed();
    desk.rest();
    Ok(())
}
