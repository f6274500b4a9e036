//! One picture of what is always read whole, shared by all questions until the store has a newer
//! commit.

use std::sync::{Arc, Mutex, PoisonError};

use armarius_core::view::{CommitHead, View};
use armarius_engine::seam::{Reader, StoreError};

/// The newest picture, and the commit it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    kept: Mutex<Option<(CommitHead, Arc<View>)>>,
}

impl Registry {
    /// A sheet with the whole tables as of the newest commit.
    pub(crate) fn sheet(&self, reader: &mut dyn Reader) -> Result<View, StoreError> {
        let whole = self.whole(reader)?;
        let mut view = View::new(whole.shard);
        whole.lend_whole(&mut view);
        Ok(view)
    }

    /// The whole tables as of the newest commit, to be read alone.
    fn whole(&self, reader: &mut dyn Reader) -> Result<Arc<View>, StoreError> {
        let head = reader.head()?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, view)) = kept.filter(|(at, _)| *at == head) {
            return Ok(view);
        }
        let mut view = View::new(0);
        reader.look(&[], &mut view, true)?;
        let view = Arc::new(view);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Two questions may have read at the same time; the newer picture stays. What is noted is
        // what was true before the reading: at worst it is read once more.
        if kept.as_ref().is_none_or(|(at, _)| at.n <= head.n) {
            *kept = Some((head, Arc::clone(&view)));
        }
        Ok(view)
    }
}
