//! Sends what a task writes to the server while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use armarius_wire::client::{Client, Error};
use armarius_wire::v1::output::Chunk;

use super::output::Output;

/// Bytes of one chunk.
pub(super) const CHUNK_BYTES_MAX: usize = 256 * 1024;
/// How long is waited for more, so that not every line is a request of its own.
const GATHER: Duration = Duration::from_millis(50);
/// How long is waited for something to come.
const LOOK: Duration = Duration::from_millis(250);
/// Rest after nobody answered.
const REST: Duration = Duration::from_millis(500);
/// How long what is left may take to arrive once the task has ended.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// A stream that is being sent.
pub(super) struct Stream {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    /// Begins to send. `chunk` says whose output it is.
    pub(super) fn start(client: &Client, lease: &str, chunk: Chunk, output: &Arc<Output>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let sender = Sender {
            client: client.clone(),
            lease: lease.to_owned(),
            chunk,
            output: Arc::clone(output),
            is_over: Arc::clone(&is_over),
        };
        let thread = std::thread::Builder::new().name("stream".to_owned());
        let thread = thread.spawn(move || sender.send_all()).ok();
        if thread.is_none() {
            output.give_up();
        }
        Self { is_over, thread }
    }

    /// The task has ended: sends what is left. What did not arrive in time stays unsent.
    pub(super) fn finish(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A sender that broke sends no more.
            drop(thread.join());
        }
    }
}

struct Sender {
    client: Client,
    lease: String,
    chunk: Chunk,
    output: Arc<Output>,
    is_over: Arc<AtomicBool>,
}

impl Sender {
    fn send_all(&self) {
        let mut until = None;
        loop {
            let is_over = self.is_over.load(Ordering::Relaxed);
            if is_over && *until.get_or_insert(Instant::now() + DRAIN_MAX) <= Instant::now() {
                break;
            }
            let has_more = self.output.wait_unsent(if is_over { Duration::ZERO } else { LOOK });
            if !has_more && is_over {
                return;
            }
            if has_more && !is_over {
                std::thread::sleep(GATHER);
            }
            if has_more && !self.send_one() {
                break;
            }
        }
        self.output.give_up();
    }

    /// Sends the next piece; `false` when the server will take no more of it.
    fn send_one(&self) -> bool {
        let piece = self.output.unsent(CHUNK_BYTES_MAX);
        let chunk = Chunk { from: piece.from, ..self.chunk.clone() };
        match self.client.send_output(&self.lease, &chunk, &piece.bytes) {
            Ok(()) => self.output.arrived(piece.from + piece.bytes.len() as u64),
            Err(Error::Refused(problem)) if !matches!(problem.status, 429 | 500..) => return false,
            Err(_) => {
                if self.is_over.load(Ordering::Relaxed) {
                    return false;
                }
                std::thread::sleep(REST);
            }
        }
        true
    }
}
