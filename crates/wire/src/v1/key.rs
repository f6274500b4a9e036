//! Keys: who may do what. A key's secret is shown once, when it is made.

use armarius_core::rows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /api/v1/keys`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// Says that an archive has a revision, and nothing else.
    Notifier,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 6] =
        [Self::Submitter, Self::Worker, Self::Operator, Self::Admin, Self::Auditor, Self::Notifier];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        rows::Role::from(self).as_str()
    }

    /// Reads what [`Role::as_str`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }
}

impl From<Role> for rows::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Submitter => Self::Submitter,
            Role::Worker => Self::Worker,
            Role::Operator => Self::Operator,
            Role::Admin => Self::Admin,
            Role::Auditor => Self::Auditor,
            Role::Notifier => Self::Notifier,
        }
    }
}

impl From<rows::Role> for Role {
    fn from(role: rows::Role) -> Self {
        match role {
            rows::Role::Submitter => Self::Submitter,
            rows::Role::Worker => Self::Worker,
            rows::Role::Operator => Self::Operator,
            rows::Role::Admin => Self::Admin,
            rows::Role::Auditor => Self::Auditor,
            rows::Role::Notifier => Self::Notifier,
        }
    }
}

/// `PUT /api/v1/keys/{key}`: what is not given stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What its holder may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Only these collections; all when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collections: Option<Vec<String>>,
}

/// A new key, shown once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// The key's public part.
    pub id: String,
    /// The whole key.
    pub key: String,
}

/// A key, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    /// When it was last changed.
    pub changed: String,
}
