//! `POST /api/v1/logins`: a link that signs a person in, once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fresh link for the holder of the key that asked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The path with its code, behind the server's address.
    pub path: String,
    /// How long it may be used.
    pub valid_s: u64,
}
