//! What a file must be to be used, and how it is used.

use std::path::{Path, PathBuf};
use std::time::Duration;

use armarius_engine::seam::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::ballast::Ballast;
use super::checkpoint::Checkpoint;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::lock::Lock;
use super::rows::event;
use super::{Sqlite, migrate, place, verify};
use crate::clock::Clock;

/// Older versions have a fault that can damage a file in WAL mode after a checkpoint that races
/// with a write.
const SQLITE_VERSION_MIN: i32 = 3_051_003;

/// How long a write waits for an outside tool that holds the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How a file is used.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of a page of a new file, 4096 or 8192; an existing file keeps its own.
    pub page_bytes: u32,
    /// Memory for pages.
    pub cache_bytes: u64,
    /// Pages in the log after which they are moved into the file.
    pub checkpoint_pages: u32,
    /// Room kept back for reports of running work; twice the size of a checkpoint when absent.
    pub ballast_bytes: Option<u64>,
    /// Where the time comes from.
    pub clock: Clock,
    /// Whether a file into which a copy was begun and not finished is opened: to go on with it.
    pub unfinished: bool,
}

// Measured by `benches/commit.rs` (100,000 lifecycles, one item with a random key per task), per
// lifecycle: processor time and kilobytes written, at 1,000 and at 6,400 operations per commit,
// with a view that keeps what it holds. The machine was shared: kilobytes are exact, times good to
// some 20 %.
//
//   pages  checkpoint at   1,000           6,400           worst commit
//   4096   4096  (16 MB)   47 µs  20.0 KB  28 µs  10.0 KB
//   4096   16384 (64 MB)   43 µs  16.7 KB  27 µs   8.1 KB
//   4096   32768 (128 MB)  34 µs  15.6 KB  25 µs   7.4 KB  0.11 s
//   8192   8192  (64 MB)   36 µs  22.9 KB  22 µs   9.7 KB  0.09 s
//   8192   16384 (128 MB)  43 µs  21.5 KB  24 µs   8.8 KB  0.12 s
//
// By `armarius bench engine`, lifecycles per second, two runs of each in turn on a quiet machine:
// 64 callers × 100, × 1, and × 100 with random keys on a million finished tasks:
//
//   4096   8192  (32 MB)   34,500 35,500   10,800 11,200   18,200
//   4096   16384 (64 MB)   36,100 32,300   11,400 10,700   20,500  ◄
//   8192   8192  (64 MB)   33,100 36,800    9,100 10,500
//
// Pages of 4 KB write less in small commits, and a finished task takes 850 instead of 1,000 bytes.
// Twice the log saves 10 % of what is written, and costs twice the ballast and longer pauses.
impl Default for Options {
    fn default() -> Self {
        Self {
            page_bytes: 4_096,
            cache_bytes: 64 << 20,
            checkpoint_pages: 16_384,
            ballast_bytes: None,
            clock: Clock::System,
            unfinished: false,
        }
    }
}

impl Options {
    /// Small files and no ballast: for tests, which open many stores.
    #[must_use]
    pub fn small() -> Self {
        Self { ballast_bytes: Some(0), ..Self::default() }
    }

    fn checkpoint_bytes(&self) -> u64 {
        u64::from(self.page_bytes) * u64::from(self.checkpoint_pages)
    }
}

pub(super) fn open(path: &Path, options: Options) -> Answer<Sqlite> {
    check_version(rusqlite::version_number())?;
    let path = settle(path)?;
    place::check(&path)?;
    let lock = Lock::take(&path)?;
    let conn = Connection::open_with_flags(
        &path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .or_fault()?;
    let mut options = options;
    prepare(&conn, &options)?;
    let desk = Desk::new(conn);
    options.page_bytes = page_bytes(&desk)?;
    migrate::migrate(&desk)?;
    if !options.unfinished {
        finished(&desk)?;
    }
    let head = event::commit_head(&desk)?;
    let mut lock = lock;
    lock.recognise(&incarnation(&desk)?, head.n)?;
    verify::newest(&desk)?;
    let boot = count_boot(&desk)?;
    let reserve = options.checkpoint_bytes();
    let ballast = Ballast::new(&path, options.ballast_bytes.unwrap_or(2 * reserve));
    let checkpoint = Checkpoint::new(options.checkpoint_pages);
    let clock = options.clock.clone();
    let broken = None;
    Ok(Sqlite { desk, path, options, clock, head, boot, checkpoint, ballast, lock, broken })
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path, options: &Options) -> Answer<Desk> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).or_fault()?;
    conn.busy_timeout(BUSY_TIMEOUT).or_fault()?;
    keep_statements(&conn)?;
    // A reader's pages are mostly the writer's too; the system's cache holds them.
    set(&conn, "cache_size", -(i64::try_from(options.cache_bytes / 4_096).unwrap_or(2_000)))?;
    set(&conn, "mmap_size", 0)?;
    set(&conn, "query_only", 1)?;
    set(&conn, "temp_store", 2)?;
    Ok(Desk::new(conn))
}

/// How often the file was opened for writing.
pub(super) fn boot(desk: &Desk) -> Answer<i64> {
    let sql = "select value from meta where key = 'boot'";
    let boot = desk.first("meta", sql, (), |cells| {
        cells.str(0)?.parse().map_err(|_| cells.wrong(0, "is not a number"))
    })?;
    Ok(boot.unwrap_or_default())
}

/// More than all statements of this crate.
const STATEMENTS_MAX: usize = 256;

/// Statements are prepared once. Plans never depend on bound values: else a statement with a bound
/// limit is prepared anew for every question.
pub(super) fn keep_statements(conn: &Connection) -> Answer<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).or_fault()?;
    Ok(())
}

fn check_version(version: i32) -> Answer<()> {
    if version >= SQLITE_VERSION_MIN {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "this program was built with SQLite {version}, which can damage files; build it with the \
         bundled SQLite, {SQLITE_VERSION_MIN} or newer"
    )))
}

/// The file's path without links, so that two ways to one file meet at one lock.
fn settle(path: &Path) -> Answer<PathBuf> {
    let unusable = |e| StoreError::Unusable(format!("{}: {e}", path.display()));
    if path.exists() {
        return path.canonicalize().map_err(unusable);
    }
    let name = path
        .file_name()
        .ok_or_else(|| StoreError::Unusable(format!("{} does not name a file", path.display())))?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize().map_err(unusable)?.join(name))
}

fn prepare(conn: &Connection, options: &Options) -> Answer<()> {
    conn.busy_timeout(BUSY_TIMEOUT).or_fault()?;
    keep_statements(conn)?;
    set(conn, "page_size", i64::from(options.page_bytes))?;
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)).or_fault()?;
    if mode != "wal" {
        return Err(StoreError::Unusable(format!("the file cannot be used in WAL mode: {mode}")));
    }
    // FULL: the log is synced with every commit. NORMAL would lose acknowledged work when the
    // power fails.
    set(conn, "synchronous", 2)?;
    set(conn, "cache_size", -(i64::try_from(options.cache_bytes / 1_024).unwrap_or(65_536)))?;
    // Mapped pages turn a disk error into a signal, and a wild write into damage.
    set(conn, "mmap_size", 0)?;
    set(conn, "temp_store", 2)?;
    set(conn, "foreign_keys", 0)?;
    // Checkpoints are run by us, because their errors must be seen.
    set(conn, "wal_autocheckpoint", 0)?;
    let limit = i64::try_from(options.checkpoint_bytes().saturating_mul(2)).unwrap_or(i64::MAX);
    set(conn, "journal_size_limit", limit)?;
    // A page that was damaged on the disk is met with an error, not with an answer.
    set(conn, "cell_size_check", 1)
}

fn set(conn: &Connection, pragma: &str, value: i64) -> Answer<()> {
    conn.pragma_update(None, pragma, value).or_fault()
}

fn page_bytes(desk: &Desk) -> Answer<u32> {
    let bytes = desk.first("pragma", "pragma page_size", (), |cells| cells.small(0))?;
    Ok(bytes.unwrap_or_default())
}

/// A file into which a copy was begun holds a part of an archive.
fn finished(desk: &Desk) -> Answer<()> {
    let sql = "select value from meta where key = 'copy'";
    match desk.first("meta", sql, (), |cells| cells.str(0).map(str::to_owned))? {
        None => Ok(()),
        Some(_) => Err(StoreError::Unusable(
            "a copy into this file was not finished; run `armarius store copy` again".to_owned(),
        )),
    }
}

pub(super) fn incarnation(desk: &Desk) -> Answer<String> {
    let sql = "select value from meta where key = 'incarnation'";
    let found = desk.first("meta", sql, (), |cells| cells.str(0).map(str::to_owned))?;
    found.ok_or_else(|| super::fault::corrupt("table meta, row incarnation: is missing"))
}

fn count_boot(desk: &Desk) -> Answer<i64> {
    let boot = boot(desk)? + 1;
    desk.run("insert or replace into meta (key, value) values ('boot', ?1)", (boot.to_string(),))?;
    Ok(boot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_sqlite_is_refused() {
        assert!(check_version(3_051_002).is_err());
        assert!(check_version(rusqlite::version_number()).is_ok());
    }
}
