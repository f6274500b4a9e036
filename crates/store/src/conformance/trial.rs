//! A store and a view of it, with everything that goes wrong turned into a panic.

use armarius_core::event;
use armarius_core::ids::Time;
use armarius_core::view::{CommitHead, Need, Stop, View};
use armarius_engine::seam::{Reader, Store, StoreError};

/// Rounds of loading after which a store will never answer.
const ROUNDS_MAX: usize = 5;

/// A store under test and the view through which it is written.
pub struct Trial {
    /// The store.
    pub store: Box<dyn Store>,
    /// The view.
    pub view: View,
    /// The time of the open transaction.
    pub now: Time,
}

impl Trial {
    /// A trial of a store, with a transaction begun.
    #[must_use]
    pub fn new(store: Box<dyn Store>) -> Self {
        let mut trial = Self { store, view: View::new(0), now: Time::ZERO };
        trial.begin();
        trial
    }

    /// Begins a transaction on the same view.
    pub fn begin(&mut self) {
        self.now = must("begin", self.store.begin(&mut self.view));
    }

    /// Ends the transaction, drops what the view knows, and begins anew.
    pub fn reopen(&mut self) {
        self.store.abandon();
        self.view = View::new(0);
        self.begin();
    }

    /// Commits what the view holds.
    pub fn try_commit(&mut self) -> Result<(), StoreError> {
        let CommitHead { n, seal } = self.view.head;
        let commit = event::seal(n + 1, self.now, seal, &self.view.events);
        self.view.keep();
        self.store.commit(&self.view, &commit)?;
        self.view.committed(CommitHead { n: commit.n, seal: commit.seal });
        Ok(())
    }

    /// Commits what the view holds, then reopens.
    pub fn commit(&mut self) {
        let committed = self.try_commit();
        must("commit", committed);
        self.reopen();
    }

    /// Loads.
    pub fn load(&mut self, needs: &[Need]) {
        must("load", self.store.load(needs, &mut self.view));
    }

    /// Asks the view, loading what it needs, until it answers.
    pub fn ask<T>(&mut self, question: impl Fn(&View) -> Result<T, Stop>) -> T {
        for _ in 0..ROUNDS_MAX {
            match question(&self.view) {
                Ok(answer) => return answer,
                Err(Stop::Need(needs)) => self.load(&needs),
                Err(Stop::Refuse(refusal)) => panic!("a view refused: {refusal:?}"),
            }
        }
        panic!("after {ROUNDS_MAX} loads the view still needs something");
    }

    /// The read-only side.
    #[must_use]
    pub fn reader(&self) -> Box<dyn Reader> {
        must("reader", self.store.reader())
    }
}

/// The value, or a panic that says what was tried.
pub(super) fn must<T>(what: &str, result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what} failed: {error}"),
    }
}
