//! A store in one file: SQLite, written by one process, kept through crashes.
//!
//! Reading order: `open` (what a file must be to be used) · `schema/` (what stands in it) · `desk`,
//! `cells`, `words` (how rows move) · `rows/` (each table) · `load`, `commit` (the lane's side) ·
//! `read` (everybody else's) · `checkpoint`, `ballast` (room) · `verify`, `inspect`, `audit`,
//! `dump` (doubt) · `backup` (a copy of a file in use) · `piecemeal`, `import` (to and from another
//! store) · `scratch` (another store's rows, to be looked at).

mod audit;
mod backup;
mod ballast;
mod cells;
mod checkpoint;
mod commit;
mod desk;
mod dump;
mod fault;
mod import;
mod inspect;
mod load;
mod lock;
mod migrate;
mod open;
mod piecemeal;
mod place;
mod read;
mod rows;
mod scratch;
mod verify;
mod words;

pub use crate::chain::Verified;
pub use audit::Pieces;
pub use backup::backup;
pub use inspect::{Inspection, Watch};
pub use open::Options;
pub(crate) use scratch::Scratch;

use std::path::{Path, PathBuf};

use armarius_core::event::Commit;
use armarius_core::ids::Time;
use armarius_core::view::{CommitHead, Need, View};
use armarius_engine::seam::{Description, Reader, Store, StoreError};

use self::ballast::Ballast;
use self::checkpoint::Checkpoint;
use self::desk::Desk;
use self::fault::{Answer, corrupt};
use self::lock::Lock;
use crate::clock::Clock;
use crate::order;
use crate::world::World;

/// A store in a file.
#[derive(Debug)]
pub struct Sqlite {
    desk: Desk,
    path: PathBuf,
    options: Options,
    clock: Clock,
    head: CommitHead,
    /// How often the file was opened for writing, this time included.
    boot: i64,
    checkpoint: Checkpoint,
    ballast: Ballast,
    lock: Lock,
    /// What made this process stop using the file.
    broken: Option<Broken>,
}

/// Why a store is not used any more.
#[derive(Debug)]
enum Broken {
    /// The disk did not keep what it was given.
    Disk(String),
    /// What is stored contradicts itself.
    Content(String),
}

fn after(text: &str) -> String {
    format!("not used any more after: {text}")
}

impl Sqlite {
    /// Opens or creates the file, alone: a second process is refused.
    pub fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        open::open(path, options)
    }

    /// A name that no other file has.
    pub fn incarnation(&self) -> Result<String, StoreError> {
        open::incarnation(&self.desk)
    }

    /// Everything the file holds, read by queries of its own.
    pub fn dump(&self) -> Result<World, StoreError> {
        dump::dump(&self.desk)
    }

    /// Recomputes every hash of the history and every seal; the doctor's question.
    pub fn verify_everything(&self) -> Result<Verified, StoreError> {
        verify::everything(&self.desk, &mut |_, _, _| {})
    }

    /// Asks SQLite whether the file's pages and indexes agree; the doctor's other question. Says
    /// nothing when they do.
    pub fn verify_pages(&self) -> Result<Vec<String>, StoreError> {
        verify::pages(&self.desk)
    }

    /// Bytes of the file, its log not counted.
    pub fn file_bytes(&self) -> Result<u64, StoreError> {
        let bytes = std::fs::metadata(&self.path).map(|m| m.len());
        bytes.map_err(|e| StoreError::Unavailable(e.to_string()))
    }

    fn finish(&mut self, view: &View, commit: &Commit) -> Answer<()> {
        order::follows(self.head, view, commit)?;
        commit::write(&self.desk, view, commit)?;
        self.desk.run("commit", ())?;
        Ok(())
    }

    /// After the disk failed or what is stored contradicts itself nothing may be tried again.
    fn note(&mut self, error: &StoreError) {
        match error {
            StoreError::Disk(text) => self.broken = Some(Broken::Disk(text.clone())),
            StoreError::Corrupt(text) => self.broken = Some(Broken::Content(text.clone())),
            StoreError::Full(_) => self.ballast.release(),
            StoreError::Unavailable(_) | StoreError::Unknown(_) | StoreError::Unusable(_) => {}
        }
    }

    fn usable(&self) -> Answer<()> {
        match &self.broken {
            Some(Broken::Disk(text)) => Err(StoreError::Disk(after(text))),
            Some(Broken::Content(text)) => Err(StoreError::Corrupt(after(text))),
            None => Ok(()),
        }
    }

    /// The lock keeps other processes out; this notices one that got around it.
    fn still_ours(&self) -> Answer<()> {
        let boot = open::boot(&self.desk)?;
        if boot == self.boot {
            return Ok(());
        }
        let path = self.path.display();
        Err(StoreError::Unusable(format!("{path} was opened for writing by somebody else")))
    }

    fn enter(&mut self, view: &mut View) -> Answer<()> {
        self.still_ours()?;
        if view.head == self.head && self.head.n > 0 {
            return Ok(());
        }
        *view = View::new(view.shard);
        view.head = self.head;
        load::whole(&self.desk, view)
    }
}

impl Store for Sqlite {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        self.usable()?;
        self.abandon();
        self.desk.run("begin immediate", ())?;
        if let Err(error) = self.enter(view) {
            self.abandon();
            self.note(&error);
            return Err(error);
        }
        Ok(self.clock.at_least(view))
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        self.usable()?;
        load::load(&self.desk, needs, view).inspect_err(|error| self.note(error))
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        self.usable()?;
        if self.desk.conn.is_autocommit() {
            return Err(corrupt("a commit without a transaction"));
        }
        if let Err(error) = self.finish(view, commit) {
            self.abandon();
            self.note(&error);
            return Err(error);
        }
        self.desk.words.committed();
        self.head = CommitHead { n: commit.n, seal: commit.seal };
        // The commit is durable, so a checkpoint that fails is the next transaction's trouble.
        match self.checkpoint.after_commit(&self.desk) {
            Ok(true) => self.lock.note_commit(self.head.n),
            Ok(false) => {}
            Err(error) => self.note(&error),
        }
        Ok(())
    }

    fn abandon(&mut self) {
        if !self.desk.conn.is_autocommit() {
            // SQLite rolls back by itself where this fails.
            self.desk.run("rollback", ()).ok();
        }
        self.desk.words.rolled_back();
    }

    fn may_fly(&self) -> bool {
        true
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(read::SqliteReader::open(&self.path, &self.options)?))
    }

    fn describe(&self) -> Description {
        Description {
            kind: "sqlite",
            place: self.path.display().to_string(),
            sync: "synchronous=FULL: the log is synced before a commit is answered",
            promise: "an acknowledged change survives the end of the process and a power cut, as \
                      long as the disk keeps what it says it keeps"
                .to_owned(),
            page_bytes: u64::from(self.options.page_bytes),
            cache_bytes: self.options.cache_bytes,
        }
    }

    fn is_short_of_space(&mut self) -> bool {
        self.ballast.is_short() || self.checkpoint.is_behind()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.abandon();
        if self.broken.is_none() {
            self.lock.note_commit(self.head.n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::sample;

    fn commit(store: &mut Sqlite, view: &mut View, n: i64) -> Result<(), StoreError> {
        *view = View::new(0);
        let now = store.begin(view)?;
        // A new name each time: what the failed commit called it must not be remembered.
        let mut event = sample::event(1, n, n);
        event.detail = Some("x".repeat(200_000).into());
        view.events.push(event);
        let head = view.head;
        let commit = armarius_core::event::seal(head.n + 1, now, head.seal, &view.events);
        store.commit(view, &commit)
    }

    #[test]
    fn a_full_disk_takes_nothing_and_drops_the_ballast_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let options = Options { ballast_bytes: Some(1 << 16), ..Options::default() };
        let mut store = Sqlite::open(&path, options).unwrap();
        let mut view = View::new(0);
        commit(&mut store, &mut view, 1).unwrap();
        assert!(!store.is_short_of_space());
        let pages = |store: &Sqlite, max: i64| {
            store
                .desk
                .conn
                .pragma_update_and_check(None, "max_page_count", max, |_| Ok(()))
                .unwrap();
        };
        pages(&store, 1);
        let refused = commit(&mut store, &mut view, 2);
        assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
        assert!(store.is_short_of_space());
        assert!(!lock::beside(&path, "ballast").exists());
        assert_eq!(store.dump().unwrap().commits.len(), 1);
        pages(&store, 1_000_000);
        commit(&mut store, &mut view, 2).unwrap();
        drop(store);
        let store = Sqlite::open(&path, Options::small()).unwrap();
        assert_eq!(store.dump().unwrap().events.len(), 2);
    }
}
