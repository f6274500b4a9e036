//! A copy of a file that may be in use.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use armarius_engine::seam::StoreError;
use rusqlite::{Connection, OpenFlags};

use super::fault::OrFault as _;

/// Writes the file as it stands at this moment into a new one, which only its owner may read, and
/// makes that durable. Writers go on meanwhile; what they commit is not in the copy.
///
/// One read transaction sees the whole copy through, so that no writer can make it begin anew.
/// While it lasts the log cannot start over: it grows by what is committed meanwhile.
pub fn backup(from: &Path, into: &Path) -> Result<(), StoreError> {
    let broken = |e: std::io::Error| StoreError::Unusable(format!("{}: {e}", into.display()));
    // SQLite takes an empty file that is there; so it is never readable by others.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(into);
    drop(made.map_err(broken)?);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(from, flags).or_fault()?;
    conn.busy_timeout(std::time::Duration::from_secs(5)).or_fault()?;
    conn.pragma_update(None, "mmap_size", 0).or_fault()?;
    let Some(name) = into.to_str() else {
        return Err(StoreError::Unusable(format!("{} is not UTF-8", into.display())));
    };
    conn.execute("vacuum into ?1", (name,)).or_fault()?;
    File::open(into).and_then(|file| file.sync_all()).map_err(broken)
}
