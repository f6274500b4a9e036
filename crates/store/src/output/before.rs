//! Output that is kept elsewhere now, with what was kept before it still shown.

use armarius_core::ids::TaskId;
use armarius_engine::output::{About, OutputError, OutputKey, Outputs, Piece};

/// Writes to one place, and reads from another what the first does not have: a server that moved to
/// a shared database still shows what its files hold.
#[derive(Debug)]
pub struct Before<N, B> {
    /// Where output is kept.
    pub now: N,
    /// Where it was kept before. Nothing is added there.
    pub before: B,
}

impl<N: Outputs, B: Outputs> Outputs for Before<N, B> {
    fn append(&self, about: &About, from: u64, bytes: &[u8]) -> Result<u64, OutputError> {
        self.now.append(about, from, bytes)
    }

    fn about(&self, key: OutputKey) -> Result<Option<About>, OutputError> {
        match self.now.about(key)? {
            Some(about) => Ok(Some(about)),
            None => self.before.about(key),
        }
    }

    fn of(&self, task: TaskId) -> Result<Vec<About>, OutputError> {
        let mut all = self.now.of(task)?;
        for old in self.before.of(task)? {
            if all.iter().all(|about| about.key != old.key) {
                all.push(old);
            }
        }
        all.sort_by_key(|about| about.key);
        Ok(all)
    }

    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> Result<Piece, OutputError> {
        if self.now.about(key)?.is_none() && self.before.about(key)?.is_some() {
            return self.before.read(key, from, bytes_max);
        }
        self.now.read(key, from, bytes_max)
    }
}
