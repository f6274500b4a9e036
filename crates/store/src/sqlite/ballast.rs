//! Room kept back, so that a full disk stops new work and not the reports of running work.
//!
//! A file of real blocks lies beside the store. When there is little room left, or the ballast is
//! gone, new work is refused; when a commit finds the disk full, the ballast is dropped and the
//! commit may be tried again; when there is room again, the ballast is laid anew.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use super::lock::beside;
use super::place;
use crate::clock;

/// How long an answer about room is good for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The ballast of a store.
#[derive(Debug)]
pub(super) struct Ballast {
    path: PathBuf,
    bytes: u64,
    laid: bool,
    short: bool,
    looked: Instant,
}

impl Ballast {
    /// Lays the ballast if there is room for it. Without bytes there is none, and it is never
    /// missed.
    pub(super) fn new(store: &Path, bytes: u64) -> Self {
        let path = beside(store, "ballast");
        let mut ballast = Self { path, bytes, laid: false, short: false, looked: clock::tick() };
        ballast.look();
        ballast
    }

    /// Whether new work should be refused.
    pub(super) fn is_short(&mut self) -> bool {
        if clock::tick().duration_since(self.looked) >= LOOK_EVERY {
            self.look();
        }
        self.short
    }

    /// Drops the ballast, because a commit found the disk full.
    pub(super) fn release(&mut self) {
        self.short = true;
        self.laid = false;
        self.looked = clock::tick();
        // Already gone is as good as removed.
        std::fs::remove_file(&self.path).ok();
    }

    fn look(&mut self) {
        self.looked = clock::tick();
        if self.bytes == 0 {
            self.short = false;
            return;
        }
        self.laid = std::fs::metadata(&self.path).is_ok_and(|m| m.len() >= self.bytes);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let free = place::free_bytes(folder).unwrap_or_default();
        if !self.laid && free >= self.bytes.saturating_mul(2) {
            self.laid = lay(&self.path, self.bytes).is_ok();
        }
        // Half of the ballast is one checkpoint: below that the next one may not fit.
        self.short = !self.laid || free < self.bytes / 2;
    }
}

fn lay(path: &Path, bytes: u64) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    let laid = match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => fill(&mut file, bytes),
        Err(e) => Err(e.into()),
    };
    if laid.is_err() {
        std::fs::remove_file(path).ok();
    }
    laid
}

fn fill(file: &mut File, bytes: u64) -> std::io::Result<()> {
    let block = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        file.write_all(block.get(..now).unwrap_or_default())?;
        left -= now as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_ballast_makes_short_until_it_is_laid_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("a.db");
        let mut ballast = Ballast::new(&store, 1 << 16);
        assert!(!ballast.is_short());
        assert_eq!(std::fs::metadata(beside(&store, "ballast")).unwrap().len(), 1 << 16);
        ballast.release();
        assert!(ballast.is_short());
        assert!(!beside(&store, "ballast").exists());
        ballast.look();
        assert!(!ballast.is_short());
        assert!(beside(&store, "ballast").exists());
    }

    #[test]
    fn too_little_room_for_the_ballast_is_short() {
        let folder = tempfile::tempdir().unwrap();
        let mut ballast = Ballast::new(&folder.path().join("a.db"), u64::MAX / 4);
        assert!(ballast.is_short());
    }

    #[test]
    fn no_ballast_is_never_short() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!Ballast::new(&folder.path().join("a.db"), 0).is_short());
    }
}
