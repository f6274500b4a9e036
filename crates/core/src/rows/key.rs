//! Keys: who may do what.

use crate::event::Hash;
use crate::ids::{ItemId, Time};
use crate::text::Name;

/// A key, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The public part, by which a presented key is found.
    pub id: Name,
    /// The item that carries the key's own events.
    pub item: ItemId,
    /// Who it is for: the actor in every event it causes.
    pub name: Name,
    /// What its holder may do.
    pub role: Role,
    /// Only these collections; all when empty.
    pub collections: Vec<Name>,
    /// SHA-256 of the secret.
    pub digest: Hash,
    /// When it was made.
    pub made_at: Time,
    /// When it was last changed.
    pub changed_at: Time,
    /// When it was revoked: from then on it opens nothing.
    pub revoked_at: Option<Time>,
}

impl Key {
    /// Whether its holder may do everything everywhere.
    #[must_use]
    pub fn is_whole_admin(&self) -> bool {
        self.role == Role::Admin && self.collections.is_empty() && self.revoked_at.is_none()
    }
}

/// What the holder of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Submits work and reads.
    Submitter,
    /// Claims, renews and reports.
    Worker,
    /// Steers work: retries, skips, cancels, holds; reads.
    Operator,
    /// Everything.
    Admin,
    /// Reads everything, changes nothing.
    Auditor,
    /// Says that an archive has a revision, and nothing else.
    Notifier,
}

impl Role {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 6] =
        [Self::Submitter, Self::Worker, Self::Operator, Self::Admin, Self::Auditor, Self::Notifier];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitter => "submitter",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Auditor => "auditor",
            Self::Notifier => "notifier",
        }
    }

    /// Reads what [`Role::as_str`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}
