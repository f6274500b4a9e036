//! Moves pages from the log into the file, and sees whether that worked.
//!
//! SQLite's own checkpoint after a commit swallows its errors; a disk that did not take a page must
//! be known before the next acknowledgement.

use std::time::Duration;

use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::open::BUSY_TIMEOUT;

const LOOK: &str = "pragma wal_checkpoint(noop)";
const MOVE: &str = "pragma wal_checkpoint(passive)";
const START_OVER: &str = "pragma wal_checkpoint(restart)";

/// A log that long has missed its chance to start over: a reader was looking at that moment. Then
/// readers are waited for, briefly.
const LONG_TIMES: i64 = 2;

/// A log that long means that a reader keeps it from starting over.
const BEHIND_TIMES: i64 = 8;

/// How long readers are waited for. Ours take far less; somebody else's long look must not stop
/// the lane.
const READERS_WAIT: Duration = Duration::from_millis(20);

/// When the log is moved into the file.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pages: i64,
    /// Pages in the log when it was last looked at.
    log_pages: i64,
}

impl Checkpoint {
    pub(super) fn new(pages: u32) -> Self {
        Self { pages: i64::from(pages), log_pages: 0 }
    }

    /// Moves the log into the file when it is long enough; says whether it did.
    pub(super) fn after_commit(&mut self, desk: &Desk) -> Answer<bool> {
        let (log, moved) = ask(desk, LOOK)?;
        self.log_pages = log;
        if log - moved < self.pages {
            return Ok(false);
        }
        if log < self.pages.saturating_mul(LONG_TIMES) {
            ask(desk, MOVE)?;
        } else {
            desk.conn.busy_timeout(READERS_WAIT).or_fault()?;
            let moved = ask(desk, START_OVER);
            desk.conn.busy_timeout(BUSY_TIMEOUT).or_fault()?;
            moved?;
        }
        Ok(true)
    }

    /// Whether the log grows although it is moved.
    pub(super) fn is_behind(&self) -> bool {
        self.log_pages > self.pages.saturating_mul(BEHIND_TIMES)
    }
}

/// Pages in the log, and how many of them are in the file.
fn ask(desk: &Desk, sql: &'static str) -> Answer<(i64, i64)> {
    let answer = desk.first("log", sql, (), |cells| Ok((cells.int(1)?, cells.int(2)?)))?;
    Ok(answer.unwrap_or_default())
}
