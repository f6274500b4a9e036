//! What a task writes: its beginning and its end are kept, the middle is counted.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes kept of the beginning, and as many of the end.
pub(super) const HALF_BYTES_MAX: usize = 512 * 1024;
/// Bytes read at a time.
const READ_BYTES: usize = 16 * 1024;

/// The output of one task, both streams together as they came.
#[derive(Default)]
pub(super) struct Output {
    caught: Mutex<Caught>,
    closed: Condvar,
}

#[derive(Default)]
struct Caught {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    readers: usize,
}

/// What is shown of an output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// The text, with a line that says how much is missing in the middle.
    pub(super) text: String,
    /// Bytes written in all.
    pub(super) bytes: u64,
    /// Something is missing.
    pub(super) truncated: bool,
}

impl Output {
    /// Catches a stream on a thread of its own until it ends.
    pub(super) fn catch(self: &Arc<Self>, mut stream: impl Read + Send + 'static) {
        self.lock().readers += 1;
        let own = Arc::clone(self);
        let read = move || {
            let mut buffer = vec![0; READ_BYTES];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                own.lock().add(buffer.get(..n).unwrap_or_default());
            }
            own.lock().readers -= 1;
            own.closed.notify_all();
        };
        if std::thread::Builder::new().name("output".to_owned()).spawn(read).is_err() {
            self.lock().readers -= 1;
        }
    }

    /// Waits until all streams have ended. A process that left its group may keep one open, so the
    /// wait is short.
    pub(super) fn wait_closed(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut caught = self.lock();
        while caught.readers > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.closed.wait_timeout(caught, left);
            caught = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// What fits into so many bytes: the beginning and the end.
    pub(super) fn shown(&self, bytes_max: usize) -> Shown {
        self.lock().shown(bytes_max)
    }

    fn lock(&self) -> MutexGuard<'_, Caught> {
        self.caught.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caught {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = HALF_BYTES_MAX.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(HALF_BYTES_MAX);
        self.tail.drain(..over);
    }

    fn shown(&self, bytes_max: usize) -> Shown {
        let mut all = self.head.clone();
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let kept = (all.len() + tail.len()) as u64;
        if kept == self.bytes && all.len() + tail.len() <= bytes_max {
            all.extend_from_slice(&tail);
            let text = String::from_utf8_lossy(&all).into_owned();
            return Shown { text, bytes: self.bytes, truncated: false };
        }
        let half = bytes_max / 2;
        let mut end = tail;
        if end.len() < half {
            // The end reaches into what was kept as the beginning.
            let from = all.len().saturating_sub(half - end.len()).max(half.min(all.len()));
            let mut joined = all.get(from..).unwrap_or_default().to_vec();
            joined.extend_from_slice(&end);
            end = joined;
        }
        let end = end.get(end.len().saturating_sub(half)..).unwrap_or_default();
        let start = all.get(..half.min(all.len())).unwrap_or_default();
        let missing = self.bytes.saturating_sub((start.len() + end.len()) as u64);
        let text = format!(
            "{}\n[… {missing} bytes left out …]\n{}",
            String::from_utf8_lossy(start),
            String::from_utf8_lossy(end)
        );
        Shown { text, bytes: self.bytes, truncated: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caught(bytes: &[u8]) -> Caught {
        let mut caught = Caught::default();
        bytes.chunks(7).for_each(|chunk| caught.add(chunk));
        caught
    }

    #[test]
    fn short_output_is_whole() {
        let shown = caught(b"hello").shown(100);
        assert_eq!(shown, Shown { text: "hello".to_owned(), bytes: 5, truncated: false });
    }

    #[test]
    fn long_output_keeps_its_ends() {
        let text: Vec<u8> = (0..100).map(|n| b'a' + (n % 26)).collect();
        let shown = caught(&text).shown(10);
        assert_eq!(shown.text, "abcde\n[… 90 bytes left out …]\nrstuv");
        assert_eq!((shown.bytes, shown.truncated), (100, true));
    }

    #[test]
    fn a_flood_takes_no_more_memory_than_its_ends() {
        let mut caught = Caught::default();
        for _ in 0..100 {
            caught.add(&vec![b'x'; 100_000]);
        }
        assert_eq!((caught.head.len(), caught.tail.len()), (HALF_BYTES_MAX, HALF_BYTES_MAX));
        assert_eq!(caught.bytes, 10_000_000);
    }
}
