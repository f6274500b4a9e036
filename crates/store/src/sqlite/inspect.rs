//! A file that is looked at and never changed: the doctor's side, and a backup's.

use std::path::Path;

use armarius_engine::seam::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::audit::{self, Pieces};
use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::lock::Lock;
use super::open::keep_statements;
use super::verify;
use super::{migrate, place};
use crate::chain::Verified;

/// Told how far a long look is: what is looked at, how much of it, out of about how much.
pub type Watch<'w> = dyn FnMut(&'static str, u64, u64) + 'w;

/// A file that is only looked at.
#[derive(Debug)]
pub struct Inspection {
    desk: Desk,
    _lock: Option<Lock>,
}

impl Inspection {
    /// Looks at a file that no server has open, and keeps servers out meanwhile.
    pub fn alone(path: &Path) -> Result<Self, StoreError> {
        place::check(path)?;
        let lock = Lock::take(path)?;
        Ok(Self { desk: open(path)?, _lock: Some(lock) })
    }

    /// Looks at a copy that nobody else knows.
    pub fn of_copy(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { desk: open(path)?, _lock: None })
    }

    /// Asks SQLite whether pages and indexes agree; says nothing when they do.
    pub fn pages(&self) -> Result<Vec<String>, StoreError> {
        verify::pages(&self.desk)
    }

    /// Recomputes every hash of the history and every seal.
    pub fn everything(&self, watch: &mut Watch<'_>) -> Result<Verified, StoreError> {
        verify::everything(&self.desk, watch)
    }

    /// Holds rows against each other and against the history, piece by piece: the memory it takes
    /// does not grow with the file. Everything that is wrong, or nothing.
    pub fn audit(&self, watch: &mut Watch<'_>) -> Vec<String> {
        self.audit_in(Pieces::default(), watch)
    }

    /// As [`Inspection::audit`], in pieces of another size. Once per inspection.
    pub fn audit_in(&self, pieces: Pieces, watch: &mut Watch<'_>) -> Vec<String> {
        audit::audit(&self.desk, pieces, watch)
    }
}

fn open(path: &Path) -> Answer<Desk> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).or_fault()?;
    keep_statements(&conn)?;
    conn.pragma_update(None, "mmap_size", 0).or_fault()?;
    conn.pragma_update(None, "cache_size", -16_384).or_fault()?;
    // Notes of the audit go to a file that is removed by itself, not into memory.
    conn.pragma_update(None, "temp_store", 1).or_fault()?;
    conn.pragma_update(None, "cell_size_check", 1).or_fault()?;
    let desk = Desk::new(conn);
    migrate::check(&desk)?;
    Ok(desk)
}
