//! Histories of items as PREMIS records: written in version 3.0 or 2.2, and read in both.
//!
//! A record is one object with its events and the agents they name. What is read is untrusted: its
//! size, depth and number of events are limited, and a document type or an entity of its own is
//! refused, so that nothing can be expanded or fetched.

mod moment;
mod read;
mod tree;
mod vocabulary;
mod write;

pub use moment::{micros, normal};
pub use read::read;
pub use write::{BadVersion, Version, write};

/// Bytes of a document that is read.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Elements within each other.
pub const DEPTH_MAX: usize = 64;
/// Elements of a document.
pub const ELEMENTS_MAX: usize = 2_000_000;
/// Events of a document.
pub const EVENTS_MAX: usize = 100_000;

/// An identifier and what kind of identifier it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identifier {
    /// What kind, as in `UUID`.
    pub kind: String,
    /// The identifier.
    pub value: String,
}

/// An object and its history, oldest event first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// What it is about.
    pub object: Identifier,
    /// What happened to it.
    pub events: Vec<Event>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its identifier.
    pub id: Identifier,
    /// What happened.
    pub name: String,
    /// When, as written there.
    pub at: String,
    /// Whether it worked.
    pub success: bool,
    /// More.
    pub detail: Option<String>,
    /// Who or what did it.
    pub agents: Vec<Agent>,
}

/// Who or what did something.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Agent {
    /// Its identifier.
    pub id: Identifier,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it had to do with the event.
    pub role: String,
    /// Whether it is a program.
    pub software: bool,
}

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PremisError {
    /// It is larger than this program reads.
    #[error("{0}; split the file")]
    TooLarge(String),
    /// It is no XML, or XML of a kind that is not read.
    #[error("byte {at}: {what}")]
    BadXml {
        /// Where.
        at: u64,
        /// What is wrong.
        what: String,
    },
    /// It is XML, but no PREMIS record that can be understood.
    #[error("{0}")]
    BadRecord(String),
}
