//! Keys: who may do what. A key's secret is shown once, when it is made.

use serde::{Deserialize, Serialize};

/// `POST /api/v1/keys`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Who it is for: the actor in every event it causes.
    pub name: String,
    /// What its holder may do.
    pub role: Role,
    /// Only these collections; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
}

/// What the holder of a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Submitter, Self::Worker, Self::Operator, Self::Admin, Self::Auditor];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitter => "submitter",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Auditor => "auditor",
        }
    }

    /// Reads what [`Role::as_str`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

/// A new key, shown once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Added {
    /// The key's public part.
    pub id: String,
    /// The whole key.
    pub key: String,
}

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Key {
    /// The public part.
    pub id: String,
    /// Who it is for.
    pub name: String,
    /// What its holder may do.
    pub role: Role,
    /// Only these collections; all when empty.
    pub collections: Vec<String>,
    /// When it was made.
    pub since: String,
}
