//! `POST /api/v1/leases/{lease}/output` and `GET /api/v1/tasks/{task}/output`.
//!
//! What a task writes travels as bytes, with offsets counted from its first byte. Something may be
//! left out in the middle: offsets show where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose output a chunk is, and where in it. The bytes are the body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// The task.
    pub task: i64,
    /// The token it was granted with.
    pub token: String,
    /// Offset of the first byte. What is known already is passed over; what is missing before it
    /// stays missing.
    pub from: u64,
}

/// Where the output of an attempt ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Bytes it has, those left out included.
    pub end: u64,
}

/// Which output is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Of which attempt; the newest one that wrote something, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// From which byte.
    #[serde(default)]
    pub from: u64,
    /// As a stream of events that goes on until the attempt is over.
    #[serde(default)]
    pub follow: bool,
}

/// Header of an answer: the attempt.
pub const ATTEMPT: &str = "armarius-attempt";
/// Header of an answer: offset of the first byte of the body.
pub const FROM: &str = "armarius-from";
/// Header of an answer: ask for this byte next.
pub const NEXT: &str = "armarius-next";
/// Header of an answer: bytes the output has, those left out included.
pub const END: &str = "armarius-end";
/// Header of an answer: bytes left out between what was asked for and what came.
pub const LEFT_OUT: &str = "armarius-left-out";

/// A piece of output, as the event `output` of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Piece {
    /// The attempt.
    pub attempt: u32,
    /// Offset of its first byte.
    pub from: u64,
    /// Offset behind its last byte.
    pub next: u64,
    /// Bytes left out before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// The text; what is not UTF-8 is replaced.
    pub text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
