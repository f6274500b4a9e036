//! A store that an engine owns and a test still sees: it counts what is loaded and committed, and
//! fails where it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use armarius_core::event::Commit;
use armarius_core::ids::Time;
use armarius_core::view::{Need, View};
use armarius_engine::seam::{Description, Reader, Store, StoreError};

/// A store with a window.
#[derive(Debug)]
pub(crate) struct Watched<S>(Arc<Mutex<Inner<S>>>);

/// The window.
#[derive(Debug)]
pub(crate) struct Watch<S>(Arc<Mutex<Inner<S>>>);

#[derive(Debug)]
struct Inner<S> {
    store: S,
    seen: Seen,
}

/// What went through the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Needs that were loaded, by kind.
    pub(crate) loads: BTreeMap<String, usize>,
    /// Entries that needs of lists asked for, by kind.
    pub(crate) entries: BTreeMap<String, usize>,
    /// Rows of each commit, events not counted.
    pub(crate) rows: Vec<usize>,
    /// Commits that are to fail before anything goes well again.
    pub(crate) failures: usize,
}

impl<S> Watched<S> {
    pub(crate) fn new(store: S) -> (Self, Watch<S>) {
        let inner = Arc::new(Mutex::new(Inner { store, seen: Seen::default() }));
        (Self(Arc::clone(&inner)), Watch(inner))
    }
}

impl<S> Watch<S> {
    /// Asks the store itself.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&S) -> T) -> T {
        ask(&self.0.lock().unwrap().store)
    }

    /// What went through since the last time.
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut self.0.lock().unwrap().seen)
    }

    /// Makes the next commits fail.
    pub(crate) fn fail(&self, commits: usize) {
        self.0.lock().unwrap().seen.failures = commits;
    }
}

impl<S: Store> Store for Watched<S> {
    fn begin(&mut self, view: &mut View) -> Result<Time, StoreError> {
        self.0.lock().unwrap().store.begin(view)
    }

    fn load(&mut self, needs: &[Need], view: &mut View) -> Result<(), StoreError> {
        let mut inner = self.0.lock().unwrap();
        for need in needs {
            let text = format!("{need:?}");
            let kind = text.split('(').next().unwrap_or_default().to_owned();
            // A list's need ends with the number of entries that are wanted.
            let wanted = text.trim_end_matches(')').rsplit(", ").next().map(str::parse::<usize>);
            if let Some(Ok(wanted)) = wanted {
                let entries = inner.seen.entries.entry(kind.clone()).or_default();
                *entries = entries.saturating_add(wanted);
            }
            *inner.seen.loads.entry(kind).or_default() += 1;
        }
        inner.store.load(needs, view)
    }

    fn commit(&mut self, view: &View, commit: &Commit) -> Result<(), StoreError> {
        let mut inner = self.0.lock().unwrap();
        if let Some(left) = inner.seen.failures.checked_sub(1) {
            inner.seen.failures = left;
            return Err(StoreError::Unavailable("as the test asked".to_owned()));
        }
        inner.store.commit(view, commit)?;
        inner.seen.rows.push(view.dirty_len());
        Ok(())
    }

    fn abandon(&mut self) {
        self.0.lock().unwrap().store.abandon();
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.lock().unwrap().store.reader()
    }

    fn describe(&self) -> Description {
        self.0.lock().unwrap().store.describe()
    }

    fn is_short_of_space(&mut self) -> bool {
        self.0.lock().unwrap().store.is_short_of_space()
    }
}
