//! One process per file.
//!
//! The lock is on a file of its own (`….lock`) and is the kernel's: it ends with the process,
//! however that ends. The file also says who holds it, which store it belongs to and how far that
//! store was, so that a log that was lost, or an older copy put in its place, does not go unseen.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use armarius_engine::seam::StoreError;
use rustix::fs::{FlockOperation, flock};

use super::fault::{Answer, corrupt};
use crate::clock;

/// How long a lock that somebody holds is asked for.
const PATIENCE: Duration = Duration::from_millis(500);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    /// What the file said before we wrote into it.
    before: Note,
    incarnation: String,
}

/// What the file says.
#[derive(Debug, Default)]
struct Note {
    process: String,
    store: String,
    commit: i64,
}

impl Lock {
    /// Takes the lock, or says who has it.
    pub(super) fn take(store: &Path) -> Answer<Self> {
        let path = beside(store, "lock");
        let shown = path.display().to_string();
        let unusable = |e: std::io::Error| StoreError::Unusable(format!("{shown}: {e}"));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable)?;
        let locked = wait_for(&file);
        let mut text = String::new();
        // What cannot be read says nothing.
        file.read_to_string(&mut text).ok();
        let before = Note::read(&text);
        match locked {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(in_use(store, &before)),
            Err(e) => return Err(unusable(e.into())),
        }
        let mut lock = Self { file, path, before, incarnation: String::new() };
        let Note { store, commit, .. } = &lock.before;
        let (store, commit) = (store.clone(), *commit);
        lock.write(&store, commit).map_err(unusable)?;
        Ok(lock)
    }

    /// Compares the store with what was noted about it when it was last used.
    pub(super) fn recognise(&mut self, incarnation: &str, commit: i64) -> Answer<()> {
        let Note { store, commit: noted, .. } = &self.before;
        if store == incarnation && *noted > commit {
            let path = self.path.display();
            return Err(corrupt(format!(
                "the newest commit is {commit}, but {noted} was there before: its log (-wal) was \
                 lost, or an older copy was put in its place; bring it back, or delete {path} to \
                 go on without what is missing"
            )));
        }
        incarnation.clone_into(&mut self.incarnation);
        self.note_commit(commit);
        Ok(())
    }

    /// Notes how far the store is. Only a hint: it is not synced and may stay behind.
    pub(super) fn note_commit(&mut self, commit: i64) {
        let incarnation = self.incarnation.clone();
        self.write(&incarnation, commit).ok();
    }

    fn write(&mut self, store: &str, commit: i64) -> std::io::Result<()> {
        let process = std::process::id();
        let text = format!("process {process}\nstore {store}\ncommit {commit}\n");
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }
}

impl Note {
    fn read(text: &str) -> Self {
        let field = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default();
            line.trim().to_owned()
        };
        let commit = field("commit ").parse().unwrap_or_default();
        Self { process: field("process "), store: field("store "), commit }
    }
}

/// Takes the kernel's lock. A program that the last holder was starting when it ended holds copies
/// of its files for a moment, until it begins; so one that is held is asked for again.
fn wait_for(file: &File) -> rustix::io::Result<()> {
    let began = clock::tick();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => {
                std::thread::sleep(PATIENCE / 50);
            }
            other => return other,
        }
    }
}

/// A file beside the store's.
pub(super) fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn in_use(store: &Path, note: &Note) -> StoreError {
    let (path, process) = (store.display(), &note.process);
    StoreError::Unusable(format!(
        "{path} is in use by process {process}; stop that process, or use another file"
    ))
}
