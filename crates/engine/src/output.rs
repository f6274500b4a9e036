//! Where the output of tasks lives: outside the store, because it is large, not part of any rule,
//! and never read by one.
//!
//! Files where one server has the store to itself, a table of the database where several share one.

use armarius_core::ids::{LeaseId, TaskId, Token};

/// The output of one grant of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutputKey {
    /// The task.
    pub task: TaskId,
    /// The fencing number of the grant.
    pub token: Token,
}

/// What is known about one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Which.
    pub key: OutputKey,
    /// Which attempt it was.
    pub attempt: u32,
    /// The lease that began it.
    pub lease: LeaseId,
}

/// A piece that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Offset of its first byte: what was asked for, or later where something is left out.
    pub from: u64,
    /// The bytes, without a gap.
    pub bytes: Vec<u8>,
    /// Bytes the output has, those left out included.
    pub end: u64,
}

/// Why output is not kept or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputError {
    /// There is no room.
    #[error("no room for output: {0}")]
    Full(String),
    /// It cannot be reached.
    #[error("output cannot be reached: {0}")]
    Unavailable(String),
}

/// Keeps what tasks write. Callers have checked who may.
pub trait Outputs: Send + Sync + std::fmt::Debug {
    /// Adds bytes at an offset and says where the output ends then. What is there already is passed
    /// over, so that a repeated call changes nothing; what is missing before stays missing.
    fn append(&self, about: &About, from: u64, bytes: &[u8]) -> Result<u64, OutputError>;

    /// What is known about an output.
    fn about(&self, key: OutputKey) -> Result<Option<About>, OutputError>;

    /// The outputs of a task, oldest first.
    fn of(&self, task: TaskId) -> Result<Vec<About>, OutputError>;

    /// The first bytes that are there from an offset on, at most so many.
    fn read(&self, key: OutputKey, from: u64, bytes_max: usize) -> Result<Piece, OutputError>;
}
