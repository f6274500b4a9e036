//! What a task writes: sent on as it comes, with an excerpt of both ends for the report.
//!
//! Memory is bounded. What is not sent yet waits; when too much waits, the task is made to wait
//! too, while somebody takes what it wrote. When nobody does, the oldest is given up, and the
//! offsets show the gap.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::mask::Mask;

/// Bytes of an excerpt's beginning, and as many of its end.
pub(super) const HALF_BYTES_MAX: usize = 2 * 1024;
/// Bytes that wait to be sent.
pub(super) const UNSENT_BYTES_MAX: usize = 1024 * 1024;
/// Bytes read at a time.
const READ_BYTES: usize = 16 * 1024;
/// How long a task waits for somebody to take what it wrote.
const TAKE_MAX: Duration = Duration::from_secs(10);

/// The output of one task, both streams together as they came.
pub(super) struct Output {
    caught: Mutex<Caught>,
    changed: Condvar,
    secrets: Vec<String>,
}

struct Caught {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    readers: usize,
    wrote_at: Instant,
    unsent: VecDeque<u8>,
    /// When something was last taken, or nothing was there to take.
    taken_at: Instant,
    /// Nobody sends it.
    is_deaf: bool,
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

/// A piece that is to be sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// Offset of its first byte.
    pub(super) from: u64,
    /// The bytes.
    pub(super) bytes: Vec<u8>,
}

impl Output {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        Self { caught: Mutex::new(Caught::new()), changed: Condvar::new(), secrets }
    }

    /// Catches a stream on a thread of its own until it ends.
    pub(super) fn catch(self: &Arc<Self>, mut stream: impl Read + Send + 'static) {
        self.lock().readers += 1;
        let own = Arc::clone(self);
        let read = move || {
            let mut mask = Mask::new(own.secrets.iter().map(String::as_str));
            let mut buffer = vec![0; READ_BYTES];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                own.add(&mask.pass(buffer.get(..n).unwrap_or_default()));
            }
            own.add(&mask.rest());
            own.lock().readers -= 1;
            own.changed.notify_all();
        };
        if std::thread::Builder::new().name("output".to_owned()).spawn(read).is_err() {
            self.lock().readers -= 1;
        }
    }

    fn add(&self, bytes: &[u8]) {
        let mut caught = self.lock();
        caught.add(bytes);
        self.changed.notify_all();
        while caught.unsent.len() > UNSENT_BYTES_MAX {
            let left = TAKE_MAX.saturating_sub(caught.taken_at.elapsed());
            if caught.is_deaf || left.is_zero() {
                let over = caught.unsent.len() - UNSENT_BYTES_MAX;
                caught.unsent.drain(..over);
                return;
            }
            let waited = self.changed.wait_timeout(caught, left);
            caught = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until all streams have ended. A process beyond reach may keep one open, so the wait is
    /// short.
    pub(super) fn wait_closed(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut caught = self.lock();
        while caught.readers > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(caught, left);
            caught = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for something to send, at most so long.
    pub(super) fn wait_unsent(&self, patience: Duration) -> bool {
        let caught = self.lock();
        if caught.unsent.is_empty() {
            let waited = self.changed.wait_timeout(caught, patience);
            return !waited.unwrap_or_else(PoisonError::into_inner).0.unsent.is_empty();
        }
        true
    }

    /// The first bytes that are not sent; they stay until they are given up.
    pub(super) fn unsent(&self, bytes_max: usize) -> Piece {
        let mut caught = self.lock();
        if caught.unsent.is_empty() {
            caught.taken_at = Instant::now();
        }
        let from = caught.bytes - caught.unsent.len() as u64;
        Piece { from, bytes: caught.unsent.iter().take(bytes_max).copied().collect() }
    }

    /// Everything before this offset has arrived.
    pub(super) fn arrived(&self, to: u64) {
        let mut caught = self.lock();
        let from = caught.bytes - caught.unsent.len() as u64;
        let arrived = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let arrived = arrived.min(caught.unsent.len());
        caught.unsent.drain(..arrived);
        caught.taken_at = Instant::now();
        self.changed.notify_all();
    }

    /// Nobody sends it any more.
    pub(super) fn give_up(&self) {
        let mut caught = self.lock();
        caught.is_deaf = true;
        self.changed.notify_all();
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// When something was last written; the beginning, before anything is.
    pub(super) fn wrote_at(&self) -> Instant {
        self.lock().wrote_at
    }

    /// The beginning and the end.
    pub(super) fn excerpt(&self) -> Shown {
        self.lock().excerpt()
    }

    fn lock(&self) -> MutexGuard<'_, Caught> {
        self.caught.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caught {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            bytes: 0,
            readers: 0,
            wrote_at: now,
            unsent: VecDeque::new(),
            taken_at: now,
            is_deaf: false,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.wrote_at = Instant::now();
        self.unsent.extend(bytes);
        let room = HALF_BYTES_MAX.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(HALF_BYTES_MAX);
        self.tail.drain(..over);
    }

    fn excerpt(&self) -> Shown {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let missing = self.bytes - (self.head.len() + tail.len()) as u64;
        let text = match missing {
            0 => String::from_utf8_lossy(&[&*self.head, &*tail].concat()).into_owned(),
            _ => format!(
                "{}\n[… {missing} bytes left out …]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&tail)
            ),
        };
        Shown { text, bytes: self.bytes, truncated: missing > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole() {
        let output = Output::new(Vec::new());
        "hello, wörld".as_bytes().chunks(5).for_each(|chunk| output.add(chunk));
        let text = "hello, wörld".to_owned();
        assert_eq!(output.excerpt(), Shown { text, bytes: 13, truncated: false });
    }

    #[test]
    fn long_output_keeps_its_ends() {
        let mut caught = Caught::new();
        caught.add(b"begin");
        caught.add(&vec![b'x'; 10 * HALF_BYTES_MAX]);
        caught.add(b"end");
        let shown = caught.excerpt();
        assert!(shown.text.starts_with("begin") && shown.text.ends_with("end"));
        let missing = 10 * HALF_BYTES_MAX + 8 - 2 * HALF_BYTES_MAX;
        assert!(shown.text.contains(&format!("[… {missing} bytes left out …]")));
    }

    #[test]
    fn a_flood_that_nobody_takes_leaves_a_gap_and_no_more_than_its_end() {
        let output = Output::new(Vec::new());
        output.give_up();
        for _ in 0..100 {
            output.add(&vec![b'x'; 100_000]);
        }
        let unsent = output.unsent(usize::MAX);
        assert_eq!(unsent.bytes.len(), UNSENT_BYTES_MAX);
        assert_eq!(unsent.from, 10_000_000 - UNSENT_BYTES_MAX as u64);
    }

    #[test]
    fn what_arrived_is_not_sent_again() {
        let output = Output::new(Vec::new());
        output.add(b"0123456789");
        assert_eq!(output.unsent(4), Piece { from: 0, bytes: b"0123".to_vec() });
        output.arrived(4);
        output.arrived(2);
        assert_eq!(output.unsent(4), Piece { from: 4, bytes: b"4567".to_vec() });
    }
}
