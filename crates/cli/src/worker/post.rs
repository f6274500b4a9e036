//! Results on their way to the server. Each is on disk before it is sent and until it has arrived,
//! so that a worker that is cut off, ends or is killed delivers it later.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use armarius_wire::client::{Client, Error};
use armarius_wire::v1::output::Chunk;
use armarius_wire::v1::report::Report;
use serde::{Deserialize, Serialize};

use super::den::Den;
use super::stream::CHUNK_BYTES_MAX;
use crate::paper::clean;

/// What the files are called: a number, then this.
const ENDING: &str = "result";

/// A finished task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Letter {
    /// For people.
    pub(super) address: String,
    /// What came of it.
    pub(super) report: Report,
    /// What of its output has not arrived yet, and whose it is.
    pub(super) chunk: Chunk,
    /// The bytes.
    pub(super) output: Vec<u8>,
}

/// What became of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It arrived, or will never be taken.
    Settled,
    /// Nobody answers, or not now.
    Later,
}

/// Where letters lie.
pub(super) struct Post {
    den: Den,
}

/// A letter that lies on disk.
pub(super) struct Lying {
    path: Option<PathBuf>,
    letter: Letter,
}

impl Post {
    /// Opens the box and takes over what dead workers left.
    pub(super) fn open(state: &Path) -> anyhow::Result<Self> {
        let den = Den::make(state, 0o700)?;
        for left in Den::abandoned(state) {
            for path in letters(left.path()) {
                let name = path.file_name().unwrap_or_default();
                fs::rename(&path, den.path().join(name))
                    .with_context(|| path.display().to_string())?;
            }
            left.remove();
        }
        Ok(Self { den })
    }

    /// What lies there, oldest first. What cannot be read is named and left where it is.
    pub(super) fn lying(&self) -> Vec<Lying> {
        let mut found = Vec::new();
        for path in letters(self.den.path()) {
            let read = fs::read(&path).map_err(io::Error::other);
            match read.and_then(|bytes| Ok(serde_json::from_slice(&bytes)?)) {
                Ok(letter) => found.push(Lying { path: Some(path), letter }),
                Err(error) => eprintln!("cannot read {}: {error}", path.display()),
            }
        }
        found
    }

    /// Puts a letter on disk. If that fails it is only in memory, which is said.
    pub(super) fn put(&self, letter: Letter) -> Lying {
        let path = self.write(&letter).inspect_err(|error| {
            eprintln!("{}: cannot keep the result on disk: {error}", clean(&letter.address));
        });
        Lying { path: path.ok(), letter }
    }

    fn write(&self, letter: &Letter) -> io::Result<PathBuf> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let name = format!("{:020}-{}.{ENDING}", now.as_micros(), letter.report.task);
        let path = self.den.path().join(name);
        let fresh = path.with_extension("new");
        let mut file = fs::File::create(&fresh)?;
        file.write_all(&serde_json::to_vec(letter)?)?;
        file.sync_data()?;
        fs::rename(&fresh, &path)?;
        Ok(path)
    }

    /// Removes the folder at the very end, unless something lies there.
    pub(super) fn clear(&self) {
        if letters(self.den.path()).is_empty() {
            self.den.clear();
        }
    }
}

impl Lying {
    /// Tries to deliver it; it is gone from the disk once that is settled.
    pub(super) fn send(&mut self, client: &Client) -> Sent {
        let sent = self.letter.send(client);
        if let (Sent::Settled, Some(path)) = (sent, &self.path) {
            drop(fs::remove_file(path));
        }
        sent
    }
}

impl Letter {
    fn send(&mut self, client: &Client) -> Sent {
        let address = clean(&self.address);
        while !self.output.is_empty() {
            let next = self.output.len().min(CHUNK_BYTES_MAX);
            let piece = self.output.get(..next).unwrap_or_default();
            match client.send_output(&self.report.lease, &self.chunk, piece) {
                Ok(()) => {
                    self.chunk.from += next as u64;
                    self.output.drain(..next);
                }
                Err(error) if is_passing(&error) => return Sent::Later,
                // The result matters more than the rest of the output.
                Err(_) => self.output.clear(),
            }
        }
        match client.report(std::slice::from_ref(&self.report)) {
            Ok(answers) => {
                for problem in answers.into_iter().filter_map(|answer| answer.problem) {
                    eprintln!("{address}: report refused: {}", clean(&problem.detail));
                }
                Sent::Settled
            }
            Err(error) if is_passing(&error) => Sent::Later,
            Err(error) => {
                eprintln!("{address}: report refused: {}", clean(&error.to_string()));
                Sent::Settled
            }
        }
    }
}

/// Whether the same may be taken later. A key that is refused may be given back its rights.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Garbled { .. } => true,
        Error::Refused(problem) => matches!(problem.status, 401 | 403 | 429 | 500..),
    }
}

fn letters(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_letter = |path: &PathBuf| path.extension().is_some_and(|e| e == ENDING);
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(is_letter).collect();
    paths.sort();
    paths
}
