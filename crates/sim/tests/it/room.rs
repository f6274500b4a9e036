//! Where the files of a test lie.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use armarius_store::Sqlite;
use tempfile::TempDir;

/// A folder in memory where there is such a place: what a killed process wrote is kept there as
/// well as on a disk, and thousands of syncs cost nothing.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir()
        && let Ok(folder) = tempfile::tempdir_in(memory)
    {
        return folder;
    }
    tempfile::tempdir().unwrap()
}

/// Opens a file, or fails the test.
#[track_caller]
pub(crate) fn open_file(path: &Path) -> (Sqlite, Arc<AtomicI64>) {
    match armarius_sim::bench::open_file(path) {
        Ok(opened) => opened,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
