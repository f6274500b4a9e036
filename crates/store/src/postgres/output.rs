//! The output of tasks as rows, so that every server shows what any of them was sent.
//!
//! It stands beside the shards and takes no lock: chunks of one output come one after another from
//! one worker, and where the same chunk comes twice at once, through two servers perhaps, its key
//! lets one of them in. As in files, the first segment and the newest two are kept.
//!
//! A chunk is not synced by its own commit. The report that ends the task comes later and is, and
//! the database's log keeps their order: what an ended task wrote is there.

use std::sync::Arc;

use armarius_core::ids::{LeaseId, TaskId, Token};
use armarius_engine::output::{About, OutputError, OutputKey, Outputs, Piece};
use armarius_engine::seam::StoreError;

use super::cells::int_of;
use super::fault::{Answer, corrupt, fault};
use super::pool::Pool;
use super::wire::{Grid, Kind, Reply, Row, Script, Trouble};
use crate::clock::tick;
use crate::codes::lease_bytes;
use crate::output::pack::{add, pack, unpack};

/// Bytes of one chunk.
const CHUNK_BYTES_MAX: usize = 256 * 1024;
/// Chunks that are read at once.
const CHUNKS_MAX: usize = 64;
/// How often a chunk that somebody else sends at the same time is looked at again.
const TRIES_MAX: usize = 10;

const SETTINGS: &str = "select set_config('search_path', $1, true),
    set_config('statement_timeout', $2, true), set_config('jit', 'off', true),
    set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('synchronous_commit', 'off', true)";
const ADD: &str = "insert into output (task, token, first, length, attempt, lease, packed)
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::integer[],
                         $6::bytea[], $7::bytea[])
    on conflict do nothing";
const THIN_OUT: &str =
    "delete from output where task = $1 and token = $2 and first >= $3 and first < $4";
const END: &str = "select first + length from output where task = $1 and token = $2
    order by first desc limit 1";
const ABOUT: &str = "select token, attempt, lease from output where task = $1 and token = $2
    order by first limit 1";
// One step in the index for each output, however many chunks it has.
const OF: &str = "with recursive o as (
        (select token, attempt, lease from output where task = $1 order by token, first limit 1)
        union all
        select n.* from o cross join lateral (
            select n.token, n.attempt, n.lease from output as n
            where n.task = $1 and n.token > o.token order by n.token, n.first limit 1) as n)
    select token, attempt, lease from o";
const READ: &str = "select first, length, packed from output where task = $1 and token = $2
    and first >= coalesce((select o.first from output as o where o.task = $1 and o.token = $2
                           and o.first <= $3 order by o.first desc limit 1), 0)
    order by first limit $4";

/// The output of tasks in a database.
#[derive(Debug)]
pub struct OutputRows {
    pool: Arc<Pool>,
    segment_bytes: u64,
}

impl OutputRows {
    pub(super) fn new(pool: Arc<Pool>, whole_bytes_max: u64) -> Self {
        Self { pool, segment_bytes: (whole_bytes_max / 2).max(1) }
    }

    /// Runs statements in a transaction of their own, in one exchange. All of them may be repeated.
    fn ask(&self, write: impl Fn(&mut Script) -> Answer<()>) -> Answer<Vec<Reply>> {
        let patience = &self.pool.patience;
        loop {
            let mut script = Script::default();
            script.ask("begin isolation level read committed")?;
            script
                .with(Kind::Text, self.pool.address.schema.as_str())?
                .with(Kind::Text, patience.statement.as_millis().to_string())?
                .ask(SETTINGS)?;
            write(&mut script)?;
            script.ask("commit")?;
            let (mut talk, used) = self.pool.take()?;
            let outcome = talk.run(script, tick() + patience.statement + patience.commit);
            let broken = talk.broken;
            if broken {
                self.pool.lost();
            } else {
                self.pool.give(talk);
            }
            match outcome {
                Ok(mut replies) => return Ok(replies.split_off(2)),
                // It was idle while the server went away.
                Err(Trouble::Link(_)) if used => self.pool.forget_idle(),
                Err(trouble) => return Err(fault(trouble)),
            }
        }
    }

    fn end(&self, key: OutputKey) -> Answer<u64> {
        let replies = self.ask(|script| ask_of(script, key, END))?;
        end_in(replies.first())
    }

    fn append(&self, about: &About, from: u64, bytes: &[u8]) -> Answer<u64> {
        for _ in 0..TRIES_MAX {
            let end = self.end(about.key)?;
            let known = usize::try_from(end.saturating_sub(from)).unwrap_or(usize::MAX);
            let fresh = bytes.get(known..).unwrap_or_default();
            if fresh.is_empty() {
                return Ok(end);
            }
            let from = from.max(end);
            if self.add(about, (end, from), fresh)? {
                return Ok(from + fresh.len() as u64);
            }
        }
        Err(StoreError::Unavailable("others add to the same output all the time".to_owned()))
    }

    /// Adds bytes; `false` when somebody else added some of them at the same time.
    fn add(&self, about: &About, (end, from): (u64, u64), bytes: &[u8]) -> Answer<bool> {
        let kinds = [Kind::I8, Kind::I8, Kind::I8, Kind::I4, Kind::I4, Kind::Bytes, Kind::Bytes];
        let mut grid = Grid::new(kinds);
        let (mut at, mut left) = (from, bytes);
        while !left.is_empty() {
            // No chunk lies in two segments.
            let room = self.segment_bytes - at % self.segment_bytes;
            let take = usize::try_from(room).unwrap_or(usize::MAX);
            let (chunk, rest) = left.split_at(take.min(left.len()).min(CHUNK_BYTES_MAX));
            let packed = pack(chunk).map_err(|e| StoreError::Unavailable(e.to_string()))?;
            let length = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
            grid.push(&[
                about.key.task.0.into(),
                about.key.token.0.into(),
                offset(at)?.into(),
                length.into(),
                about.attempt.into(),
                lease_bytes(about.lease).into(),
                packed[..].into(),
            ])?;
            (at, left) = (at + u64::from(length), rest);
        }
        let rows = grid.len() as u64;
        let segment = |at: u64| at.saturating_sub(1) / self.segment_bytes;
        let newest = segment(at);
        let thin_out = newest >= 2 && newest != segment(end);
        let replies = self.ask(|script| {
            script.with_grid(grid.clone())?.ask(ADD)?;
            if thin_out {
                let key = about.key;
                script.with(Kind::I8, key.task.0)?.with(Kind::I8, key.token.0)?;
                script.with(Kind::I8, offset(self.segment_bytes)?)?;
                script.with(Kind::I8, offset((newest - 1) * self.segment_bytes)?)?.ask(THIN_OUT)?;
            }
            Ok(())
        })?;
        Ok(replies.first().is_some_and(|added| added.count == rows))
    }

    fn abouts(
        &self,
        task: TaskId,
        write: impl Fn(&mut Script) -> Answer<()>,
    ) -> Answer<Vec<About>> {
        let replies = self.ask(write)?;
        let rows = replies.first().map(|reply| &reply.rows[..]).unwrap_or_default();
        let read = |row: &Row| {
            let lease: [u8; 16] = row.get(2).flatten()?.try_into().ok()?;
            Some(About {
                key: OutputKey { task, token: Token(int(row, 0)?) },
                attempt: int(row, 1)?.try_into().ok()?,
                lease: LeaseId(u128::from_be_bytes(lease)),
            })
        };
        rows.iter().map(|row| read(row).ok_or_else(|| wrong(task))).collect()
    }

    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> Answer<Piece> {
        let mut piece = Piece { from, bytes: Vec::new(), end: 0 };
        let limit = i64::try_from(CHUNKS_MAX).unwrap_or(i64::MAX);
        let mut next = from;
        loop {
            let replies = self.ask(|script| {
                script.with(Kind::I8, key.task.0)?.with(Kind::I8, key.token.0)?;
                script.with(Kind::I8, offset(next)?)?.with(Kind::I8, limit)?.ask(READ)?;
                ask_of(script, key, END)
            })?;
            piece.end = end_in(replies.get(1))?;
            let rows = replies.first().map(|reply| &reply.rows[..]).unwrap_or_default();
            let mut goes_on = rows.len() == CHUNKS_MAX;
            for row in rows {
                let (at, bytes) = chunk_in(row).ok_or_else(|| wrong(key.task))?;
                next = at + bytes.len() as u64;
                if !add(&mut piece, at, &bytes, bytes_max) || piece.bytes.len() >= bytes_max {
                    goes_on = false;
                    break;
                }
            }
            if !goes_on {
                break;
            }
        }
        if piece.bytes.is_empty() {
            piece.from = from.max(piece.end);
        }
        Ok(piece)
    }
}

impl Outputs for OutputRows {
    fn append(&self, about: &About, from: u64, bytes: &[u8]) -> Result<u64, OutputError> {
        self.append(about, from, bytes).map_err(said)
    }

    fn about(&self, key: OutputKey) -> Result<Option<About>, OutputError> {
        let found = self.abouts(key.task, |script| ask_of(script, key, ABOUT));
        found.map(|all| all.first().copied()).map_err(said)
    }

    fn of(&self, task: TaskId) -> Result<Vec<About>, OutputError> {
        let ask = |script: &mut Script| {
            script.with(Kind::I8, task.0)?.ask(OF)?;
            Ok(())
        };
        self.abouts(task, ask).map_err(said)
    }

    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> Result<Piece, OutputError> {
        self.read(key, from, bytes_max).map_err(said)
    }
}

fn ask_of(script: &mut Script, key: OutputKey, sql: &str) -> Answer<()> {
    script.with(Kind::I8, key.task.0)?.with(Kind::I8, key.token.0)?.ask(sql)?;
    Ok(())
}

fn int(row: &Row, i: usize) -> Option<i64> {
    row.get(i).flatten().and_then(int_of)
}

fn end_in(reply: Option<&Reply>) -> Answer<u64> {
    let row = reply.and_then(|reply| reply.rows.first());
    let end = row.map_or(Some(0), |row| int(row, 0));
    end.and_then(|end| end.try_into().ok()).ok_or_else(|| corrupt("table output: no end"))
}

/// The offset of a chunk and its bytes; `None` when it is not what was packed.
fn chunk_in(row: &Row) -> Option<(u64, Vec<u8>)> {
    let length = usize::try_from(int(row, 1)?).ok().filter(|n| *n <= CHUNK_BYTES_MAX)?;
    Some((int(row, 0)?.try_into().ok()?, unpack(row.get(2).flatten()?, length)?))
}

fn offset(at: u64) -> Answer<i64> {
    i64::try_from(at).map_err(|_| StoreError::Unavailable(format!("{at} is no offset")))
}

fn wrong(task: TaskId) -> StoreError {
    corrupt(format!("table output: a chunk of task {task} is not what was written"))
}

fn said(error: StoreError) -> OutputError {
    match error {
        StoreError::Full(why) => OutputError::Full(why),
        StoreError::Unavailable(_)
        | StoreError::Unknown(_)
        | StoreError::Unusable(_)
        | StoreError::Corrupt(_)
        | StoreError::Disk(_) => OutputError::Unavailable(error.to_string()),
    }
}
