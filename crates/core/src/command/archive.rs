//! What can be asked about archives and their revisions.

use crate::flow::Flow;
use crate::ids::Time;
use crate::rows::ArchiveKind;
use crate::text::{Name, Text};

/// An archive to be watched, or what is to change about one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutArchive {
    /// Its name, which is also its collection's.
    pub archive: Name,
    /// What kind of repository it is.
    pub kind: ArchiveKind,
    /// Where: a path or a URL.
    pub place: Text,
    /// The branch to count along; empty where there is none.
    pub branch: Text,
    /// The first revision to plan, from 1.
    pub first: i64,
    /// Whether its definitions may run.
    pub trusted: bool,
    /// Revisions made by tasks that may stand behind one another; as it was when it is not said.
    pub depth_max: Option<u32>,
}

/// What a look at a repository showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It has revisions up to this one.
    Youngest {
        /// The youngest revision.
        revision: i64,
        /// What tells this repository from another one at the same place.
        identity: Text,
    },
    /// It could not be read.
    Unreachable(Text),
    /// It is not the repository, or not the history, that was planned from.
    Rewritten(Text),
}

/// The history of a stopped archive, to be taken as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptHistory {
    /// The archive.
    pub archive: Name,
    /// Why.
    pub reason: Text,
    /// The planned revision, as it was when the repository was read.
    pub planned: i64,
    /// The youngest revision of the repository; it may be below the planned one.
    pub youngest: i64,
    /// What tells this repository from another one at the same place.
    pub identity: Text,
    /// What the repository now calls the planned revision; empty where numbers say enough, or
    /// when there is none.
    pub id: Text,
}

/// A revision to be planned from what the repository holds at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRevision {
    /// The archive.
    pub archive: Name,
    /// The revision, one above the planned one.
    pub revision: i64,
    /// What the repository says about it.
    pub about: About,
    /// Its definitions.
    pub definitions: Definitions,
}

/// What a repository says about a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What the repository itself calls it; empty where the number says enough.
    pub id: Text,
    /// Who made it.
    pub author: Text,
    /// When, by the repository's clock.
    pub at: Option<Time>,
    /// What its author said, shortened.
    pub message: Text,
    /// Paths it changed, as many as are told.
    pub paths: Vec<Text>,
    /// Paths that are not told.
    pub paths_more: u64,
    /// The task that made it, if one did.
    pub cause: Option<CausedBy>,
}

/// The task that made a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CausedBy {
    /// How many revisions made by tasks stand behind that task.
    pub depth: u32,
    /// The task, as its worker named it.
    pub task: Text,
}

/// What the definitions of a revision came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definitions {
    /// These flows; none when there are no files.
    Flows(Vec<Flow>),
    /// They cannot be read.
    Invalid(Vec<Complaint>),
}

/// What is wrong with a file of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The file.
    pub file: Text,
    /// The line, from 1; 0 when it is about the whole file.
    pub line: u64,
    /// What is wrong, and what to do about it.
    pub reason: Text,
}

/// A flow of an archive to be started by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFlow {
    /// The archive.
    pub archive: Name,
    /// At which revision.
    pub revision: i64,
    /// The flow, as defined at that revision.
    pub flow: Flow,
    /// Parameters: a JSON object, or empty.
    pub payload: Text,
}
