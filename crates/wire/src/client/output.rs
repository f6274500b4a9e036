//! Reading what a task writes.

use std::io::{BufRead as _, BufReader, Read};
use std::time::Duration;

use ureq::Body;
use ureq::http::Response;

use super::{Answer, Client, Error};
use crate::v1::output::{ATTEMPT, Chunk, FROM, LEFT_OUT, NEXT, Piece, Wanted};

/// How long a chunk may take; it is sent again.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest line of a stream of events.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A piece as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Where it stands, without its text.
    pub piece: Piece,
    /// The bytes; none when nothing more is there now.
    pub bytes: Vec<u8>,
}

impl Client {
    /// Sends what a task wrote.
    pub fn send_output(&self, lease: &str, chunk: &Chunk, bytes: &[u8]) -> Answer<()> {
        let request = self.agent.post(self.at(&format!("leases/{lease}/output")));
        let request = request
            .header("authorization", self.bearer())
            .query("task", chunk.task.to_string())
            .query("token", &chunk.token)
            .query("from", chunk.from.to_string())
            .config()
            .timeout_global(Some(SEND_TIMEOUT))
            .build();
        self.done(request.content_type("application/octet-stream").send(bytes))
    }

    /// Reads what is there now, as much as comes in one answer.
    pub fn read_output(&self, task: i64, wanted: &Wanted) -> Answer<Bytes> {
        let mut answer = self.open_output(task, wanted)?;
        let header = |name| answer.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
        let piece = Piece {
            attempt: header(ATTEMPT).and_then(|n| u32::try_from(n).ok()).unwrap_or_default(),
            from: header(FROM).unwrap_or(wanted.from),
            next: header(NEXT).unwrap_or(wanted.from),
            left_out: header(LEFT_OUT).unwrap_or_default(),
            text: String::new(),
        };
        let garbled = |why: String| Error::Garbled { url: self.url.clone(), why };
        let bytes = answer.body_mut().read_to_vec().map_err(|e| garbled(e.to_string()))?;
        Ok(Bytes { piece, bytes })
    }

    /// Follows what is written and says whether the attempt is over; if not, the stream broke.
    pub fn follow_output(
        &self,
        task: i64,
        wanted: &Wanted,
        mut each: impl FnMut(Piece),
    ) -> Answer<bool> {
        let mut answer = self.open_output(task, &Wanted { follow: true, ..wanted.clone() })?;
        let mut lines = BufReader::new(answer.body_mut().as_reader());
        let mut is_end = false;
        loop {
            let mut line = String::new();
            let read = lines.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
            if matches!(read, Ok(0) | Err(_)) {
                return Ok(false);
            }
            if let Some(name) = line.strip_prefix("event: ") {
                is_end = name.trim_end() == "end";
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if is_end {
                return Ok(true);
            }
            let garbled =
                |e: serde_json::Error| Error::Garbled { url: self.url.clone(), why: e.to_string() };
            each(serde_json::from_str(data).map_err(garbled)?);
        }
    }

    fn open_output(&self, task: i64, wanted: &Wanted) -> Answer<Response<Body>> {
        let path = self.at(&format!("tasks/{task}/output"));
        let mut request = self.agent.get(path).header("authorization", self.bearer());
        request = request.query("from", wanted.from.to_string());
        if let Some(attempt) = wanted.attempt {
            request = request.query("attempt", attempt.to_string());
        }
        if wanted.follow {
            // A stream has no end of its own.
            request = request.query("follow", "true").config().timeout_global(None).build();
        }
        self.accept(request.call())
    }
}
