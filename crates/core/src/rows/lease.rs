//! Leases, and the manifests that attempts leave.

use crate::ids::{LeaseId, Span, TaskId, Time, Token};
use crate::text::{Name, Text};

/// A worker's exclusive, expiring right to a bundle of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Its name.
    pub id: LeaseId,
    /// The worker.
    pub worker: Name,
    /// Who claimed, as authenticated.
    pub actor: Name,
    /// Liveness.
    pub ttl: Span,
    /// When it was granted.
    pub granted_at: Time,
    /// When it lapses unless renewed.
    pub expires_at: Time,
    /// What it still holds.
    pub grips: Vec<Grip>,
}

/// A lease's hold on one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grip {
    /// The task.
    pub task: TaskId,
    /// The token it was granted with.
    pub token: Token,
    /// Cancelled: the worker is asked to stop; its slots stay taken until it has.
    pub stopping: bool,
    /// The item's `changed_seq` at the grant: what the work is based on.
    pub basis: i64,
    /// Hard deadline of the attempt.
    pub deadline: Time,
    /// When silence becomes too long; [`Time`] zero when the step sets no such limit.
    pub silent_at: Time,
}

impl Lease {
    /// The next moment at which something is due for this lease.
    #[must_use]
    pub fn due_at(&self) -> Time {
        let due = |g: &Grip| {
            let silent = if g.silent_at == Time::ZERO { g.deadline } else { g.silent_at };
            g.deadline.min(silent)
        };
        let grips = self.grips.iter().filter(|g| !g.stopping).map(due);
        grips.fold(self.expires_at, Time::min)
    }
}

/// The bill of materials of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its state.
    pub state: ManifestState,
    /// The text.
    pub text: Text,
    /// When it was written.
    pub at: Time,
}

/// What a manifest says about its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManifestState {
    /// Everything was written.
    Complete,
    /// Something was written, not everything.
    Partial,
    /// Intentionally nothing.
    Empty,
    /// What was written is gone again.
    Removed,
}

impl ManifestState {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 4] = [Self::Complete, Self::Partial, Self::Empty, Self::Removed];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Empty => "empty",
            Self::Removed => "removed",
        }
    }
}
