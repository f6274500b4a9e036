//! What a caller is told when the answer is no (RFC 9457, `application/problem+json`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The content type of a problem.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// A "no" with code, sentence and hint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Names the kind of problem: `urn:armarius:error:CODE`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The HTTP status in words.
    #[serde(default)]
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code, for programs.
    pub code: String,
    /// What happened, for people.
    pub detail: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Where in a text it is, if it is about a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Place>,
}

/// One thing that is wrong in a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

impl Problem {
    /// A problem of a kind.
    #[must_use]
    pub fn new(status: u16, title: &str, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:armarius:error:{code}"),
            title: title.to_owned(),
            status,
            code: code.to_owned(),
            detail: detail.into(),
            hint: String::new(),
            problems: Vec::new(),
        }
    }
}
