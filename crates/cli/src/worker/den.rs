//! A folder of this worker's own among those of other workers, and what dead ones left behind.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};

/// The file whose lock says that the owner lives.
const LOCK: &str = "lock";

/// A folder nobody else uses while this is kept.
#[derive(Debug)]
pub(super) struct Den {
    path: PathBuf,
    _lock: File,
}

impl Den {
    /// Makes one below a folder, which is made as well. `mode` is that of both.
    pub(super) fn make(below: &Path, mode: u32) -> anyhow::Result<Self> {
        let make = |path: &Path| {
            let made = DirBuilder::new().recursive(true).mode(mode).create(path);
            made.with_context(|| path.display().to_string())
        };
        make(below)?;
        let own = tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
            .tempdir_in(below)
            .with_context(|| below.display().to_string())?;
        let path = own.keep();
        let lock = lock(&path)?.context("somebody else has the folder that was just made")?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Those of workers that are gone.
    pub(super) fn abandoned(below: &Path) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(below) else { return Vec::new() };
        let free = |entry: io::Result<fs::DirEntry>| {
            let path = entry.ok().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))?.path();
            path.join(LOCK).exists().then_some(())?;
            let lock = lock(&path).ok().flatten()?;
            Some(Self { path, _lock: lock })
        };
        entries.filter_map(free).collect()
    }

    /// Removes it with all that is in it, or leaves what cannot be removed to the next worker.
    pub(super) fn remove(self) {
        self.clear();
    }

    /// Removes the folder and all that is in it, at the very end.
    pub(super) fn clear(&self) {
        remove_all(&self.path);
    }
}

/// `None` when somebody else has it.
fn lock(path: &Path) -> anyhow::Result<Option<File>> {
    let path = path.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| path.display().to_string())?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Removes a folder, also one in which folders were made read-only. Links are not followed.
pub(super) fn remove_all(path: &Path) {
    if fs::remove_dir_all(path).is_ok() {
        return;
    }
    open_up(path);
    // What is still there is found by the next worker.
    drop(fs::remove_dir_all(path));
}

fn open_up(folder: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    drop(fs::set_permissions(folder, mode));
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_dead_left_is_found() {
        let below = tempfile::tempdir().unwrap();
        let mine = Den::make(below.path(), 0o700).unwrap();
        let other = Den::make(below.path(), 0o700).unwrap();
        assert!(Den::abandoned(below.path()).is_empty());
        let left = other.path().to_owned();
        drop(other);
        let found = Den::abandoned(below.path());
        assert_eq!(found.iter().map(Den::path).collect::<Vec<_>>(), [left]);
        found.into_iter().for_each(Den::remove);
        assert_eq!(fs::read_dir(below.path()).unwrap().count(), 1);
        mine.remove();
    }
}
