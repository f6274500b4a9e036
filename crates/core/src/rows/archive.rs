//! Archives: collections whose revisions come from a repository.

use crate::ids::{CollectionId, FlowId, TaskId, Time};
use crate::text::Text;

/// A repository that is watched, and how far its revisions are planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The collection that holds its revisions, flows and queues.
    pub collection: CollectionId,
    /// What kind of repository it is.
    pub kind: ArchiveKind,
    /// Where the repository is: a path or a URL.
    pub place: Text,
    /// The branch that is counted along; empty where there is none.
    pub branch: Text,
    /// The first revision that is planned.
    pub first: i64,
    /// Whether its definitions may run.
    pub trusted: bool,
    /// What tells this repository from another one at the same place; empty before the first look.
    pub identity: Text,
    /// The youngest revision anybody has seen; below `first` when there is none, and below
    /// `planned` only when a shorter history was accepted.
    pub youngest: i64,
    /// The youngest revision a notice spoke of.
    pub noticed: i64,
    /// Revisions up to this one are planned.
    pub planned: i64,
    /// What the repository itself calls the planned revision; empty where numbers say enough.
    pub planned_id: Text,
    /// Since when the next revision is awaited; zero when none is.
    pub awaiting_since: Time,
    /// How it stands.
    pub state: ArchiveState,
    /// Why it stands so.
    pub reason: Text,
    /// Since when.
    pub since: Time,
    /// Exclusive tasks of the planned revision: the next COMMIT waits for them.
    pub barrier: Vec<TaskId>,
    /// Flows that the definitions of the planned revision have.
    pub flows: Vec<FlowId>,
    /// Revisions made by tasks that may stand behind one another before nothing more is run.
    pub depth_max: u32,
}

/// What kind of repository it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveKind {
    /// Subversion.
    Svn,
    /// git, along the first parents of one branch.
    Git,
}

/// How an archive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchiveState {
    /// It is watched.
    Watched,
    /// Its repository cannot be read at present; it is tried again.
    Unreachable,
    /// Its history is not the one that was planned: an operator must decide.
    Stopped,
    /// It is watched no more; its history stays.
    Removed,
}

impl ArchiveKind {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 2] = [Self::Svn, Self::Git];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Svn => "svn",
            Self::Git => "git",
        }
    }
}

impl ArchiveState {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 4] = [Self::Watched, Self::Unreachable, Self::Stopped, Self::Removed];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watched => "watched",
            Self::Unreachable => "unreachable",
            Self::Stopped => "stopped",
            Self::Removed => "removed",
        }
    }
}

impl Archive {
    /// Whether any revision of it was ever planned.
    #[must_use]
    pub fn has_planned(&self) -> bool {
        self.planned >= self.first
    }

    /// Whether a repository with revisions up to this one has lost some.
    #[must_use]
    pub fn is_cut_by(&self, youngest: i64) -> bool {
        self.has_planned() && youngest < self.planned.min(self.youngest)
    }

    /// The revision that is awaited, and since when, if any is.
    #[must_use]
    pub fn awaited(&self) -> Option<(i64, Time)> {
        let behind = self.planned < self.youngest.max(self.noticed);
        behind.then_some((self.planned.saturating_add(1), self.awaiting_since))
    }
}
