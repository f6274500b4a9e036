//! A few read-only sides of the store, lent to whoever has a question.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::EngineError;
use crate::seam::{Reader, StoreError};

/// The pool. A question waits for a free reader, never for the lane.
pub(crate) struct Readers {
    free: Mutex<Option<Vec<Box<dyn Reader>>>>,
    back: Condvar,
}

impl Readers {
    pub(crate) fn new(readers: Vec<Box<dyn Reader>>) -> Self {
        Self { free: Mutex::new(Some(readers)), back: Condvar::new() }
    }

    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let mut lent = Lent { pool: self, reader: Some(self.lend()?) };
        let Some(reader) = lent.reader.as_mut() else {
            return Err(EngineError::Stopped);
        };
        question(reader.as_mut()).map_err(|e| match e {
            StoreError::Full(why) => EngineError::Full(why),
            // A question changes nothing.
            StoreError::Unavailable(why) | StoreError::Unknown(why) => {
                EngineError::Unavailable(why)
            }
            StoreError::Unusable(_) | StoreError::Corrupt(_) | StoreError::Disk(_) => {
                EngineError::Internal(e.to_string())
            }
        })
    }

    fn lend(&self) -> Result<Box<dyn Reader>, EngineError> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match free.as_mut() {
                None => return Err(EngineError::Stopped),
                Some(readers) => {
                    if let Some(reader) = readers.pop() {
                        return Ok(reader);
                    }
                }
            }
            free = self.back.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Closes every reader, now or when it comes back.
    pub(crate) fn close(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.back.notify_all();
    }
}

/// A reader that comes back by itself, also when the question panics.
struct Lent<'a> {
    pool: &'a Readers,
    reader: Option<Box<dyn Reader>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(free), Some(reader)) = (free.as_mut(), self.reader.take()) {
            free.push(reader);
            self.pool.back.notify_one();
        }
    }
}
