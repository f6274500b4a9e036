//! The output of tasks as files below one folder.
//!
//! An output is cut into *segments* by offset, each a file of compressed chunks. The first segment
//! and the newest two are kept: an output of moderate size is whole, of a larger one the beginning
//! and the end are. Files are called `TASK.TOKEN.ATTEMPT.SEGMENT`, a thousand tasks to a folder.
//!
//! Chunks are not synced one by one: after a loss of power the newest may be missing, and half a
//! chunk is cut off when the file is opened again.

mod before;
pub(crate) mod pack;
mod segment;

pub use before::Before;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use armarius_core::ids::{TaskId, Token};
use armarius_engine::output::{About, OutputError, OutputKey, Outputs, Piece};

use segment::{Reader, Writer};

/// Bytes of an output that are kept whole, unless told otherwise.
pub const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Outputs that are open for writing at once; the file of any other is opened again.
const OPEN_MAX: usize = 256;
/// Tasks that share a folder.
const TASKS_PER_FOLDER: i64 = 1000;

/// The output of tasks as files.
#[derive(Debug)]
pub struct OutputFiles {
    folder: PathBuf,
    segment_bytes: u64,
    open: Mutex<Open>,
}

/// What is being written.
#[derive(Debug, Default)]
struct Open {
    writers: BTreeMap<OutputKey, Entry>,
    turns: u64,
}

/// One of them, and when it was last asked for.
#[derive(Debug)]
struct Entry {
    turn: u64,
    about: About,
    writing: Arc<Mutex<Writing>>,
}

/// One output that is being written.
#[derive(Debug)]
struct Writing {
    about: About,
    segment: u64,
    writer: Writer,
}

impl OutputFiles {
    /// Keeps output in this folder, which is made for its owner alone. Up to `whole_bytes_max`
    /// bytes an output is kept whole.
    pub fn open(folder: &Path, whole_bytes_max: u64) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let segment_bytes = (whole_bytes_max / 2).max(1);
        Ok(Self { folder: folder.to_owned(), segment_bytes, open: Mutex::default() })
    }

    fn folder_of(&self, task: TaskId) -> PathBuf {
        self.folder.join(task.0.div_euclid(TASKS_PER_FOLDER).to_string())
    }

    fn path_of(&self, key: OutputKey, attempt: u32, segment: u64) -> PathBuf {
        let OutputKey { task, token } = key;
        self.folder_of(task).join(format!("{}.{}.{attempt}.{segment}", task.0, token.0))
    }

    /// The files of a task: token, attempt and segment of each.
    fn files(&self, task: TaskId) -> io::Result<Vec<(Token, u32, u64)>> {
        let entries = match fs::read_dir(self.folder_of(task)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            found.extend(name.to_str().and_then(|name| parse(name, task)));
        }
        found.sort_unstable();
        Ok(found)
    }

    fn segments(&self, key: OutputKey) -> io::Result<Vec<(u32, u64)>> {
        let files = self.files(key.task)?.into_iter();
        Ok(files.filter(|(t, _, _)| *t == key.token).map(|(_, a, s)| (a, s)).collect())
    }

    /// The output, opened for writing where it ends.
    fn writing(&self, about: &About) -> io::Result<Arc<Mutex<Writing>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.turns += 1;
        let turn = open.turns;
        if let Some(entry) = open.writers.get_mut(&about.key) {
            entry.turn = turn;
            return Ok(Arc::clone(&entry.writing));
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.folder_of(about.key.task))?;
        let newest = self.segments(about.key)?.last().map(|(_, segment)| *segment);
        let segment = newest.unwrap_or_default();
        let at = segment * self.segment_bytes;
        let writer =
            Writer::open(&self.path_of(about.key, about.attempt, segment), about.lease, at)?;
        let writing = Arc::new(Mutex::new(Writing { about: *about, segment, writer }));
        let entry = Entry { turn, about: *about, writing: Arc::clone(&writing) };
        open.writers.insert(about.key, entry);
        if open.writers.len() > OPEN_MAX {
            let oldest = open.writers.iter().min_by_key(|(_, entry)| entry.turn).map(|(k, _)| *k);
            oldest.map(|key| open.writers.remove(&key));
        }
        Ok(writing)
    }

    fn append(&self, about: &About, mut from: u64, mut bytes: &[u8]) -> io::Result<u64> {
        let writing = self.writing(about)?;
        let mut writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            usize::try_from(writing.writer.end().saturating_sub(from)).unwrap_or(usize::MAX);
        bytes = bytes.get(known..).unwrap_or_default();
        from = from.max(writing.writer.end());
        while !bytes.is_empty() {
            let segment = from / self.segment_bytes;
            if segment != writing.segment {
                self.turn_over(&mut writing, segment)?;
            }
            let room = (segment + 1) * self.segment_bytes - from;
            let take = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(take);
            writing.writer.append(from, now)?;
            from += now.len() as u64;
            bytes = later;
        }
        Ok(writing.writer.end())
    }

    /// Goes on in another segment and removes those that are neither the first nor among the newest
    /// two.
    fn turn_over(&self, writing: &mut Writing, segment: u64) -> io::Result<()> {
        let at = segment * self.segment_bytes;
        let About { key, attempt, lease } = writing.about;
        writing.writer = Writer::open(&self.path_of(key, attempt, segment), lease, at)?;
        writing.segment = segment;
        for (attempt, old) in self.segments(key)? {
            if old > 0 && old + 1 < segment {
                fs::remove_file(self.path_of(key, attempt, old))?;
            }
        }
        Ok(())
    }

    fn about(&self, key: OutputKey, attempt: u32, segment: u64) -> io::Result<About> {
        let lease = segment::lease_of(&self.path_of(key, attempt, segment))?;
        Ok(About { key, attempt, lease })
    }

    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> io::Result<Piece> {
        let mut piece = Piece { from, bytes: Vec::new(), end: 0 };
        for (attempt, segment) in self.segments(key)? {
            let at = segment * self.segment_bytes;
            let mut reader = match Reader::open(&self.path_of(key, attempt, segment), at) {
                Ok(reader) => reader,
                // It was removed meanwhile: what was in it is left out.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if at + self.segment_bytes > from {
                reader.collect(&mut piece, bytes_max)?;
            }
            piece.end = piece.end.max(reader.end()?);
        }
        if piece.bytes.is_empty() {
            piece.from = from.max(piece.end);
        }
        Ok(piece)
    }
}

impl Outputs for OutputFiles {
    fn append(&self, about: &About, from: u64, bytes: &[u8]) -> Result<u64, OutputError> {
        let added = self.append(about, from, bytes);
        if added.is_err() {
            // What the file holds now is looked at before anything is added again.
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.writers.remove(&about.key);
        }
        added.map_err(|error| fault(&error))
    }

    fn about(&self, key: OutputKey) -> Result<Option<About>, OutputError> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = open.writers.get(&key) {
            return Ok(Some(entry.about));
        }
        drop(open);
        let found = self.segments(key).map_err(|error| fault(&error))?;
        let Some((attempt, segment)) = found.first() else { return Ok(None) };
        self.about(key, *attempt, *segment).map(Some).map_err(|error| fault(&error))
    }

    fn of(&self, task: TaskId) -> Result<Vec<About>, OutputError> {
        let mut files = self.files(task).map_err(|error| fault(&error))?;
        files.dedup_by_key(|(token, _, _)| *token);
        let about = |(token, attempt, segment)| {
            let key = OutputKey { task, token };
            self.about(key, attempt, segment).map_err(|error| fault(&error))
        };
        files.into_iter().map(about).collect()
    }

    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> Result<Piece, OutputError> {
        self.read(key, from, bytes_max).map_err(|error| fault(&error))
    }
}

fn parse(name: &str, task: TaskId) -> Option<(Token, u32, u64)> {
    let mut parts = name.split('.');
    let is_its = parts.next()?.parse() == Ok(task.0);
    let (token, attempt, segment) =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    is_its.then_some((Token(token), attempt, segment))
}

fn fault(error: &io::Error) -> OutputError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            OutputError::Full(error.to_string())
        }
        _ => OutputError::Unavailable(error.to_string()),
    }
}
