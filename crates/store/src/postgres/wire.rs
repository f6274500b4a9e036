//! Speaks to a PostgreSQL server: an address, a socket with deadlines, a conversation.
//!
//! Messages and authentication come from `postgres-protocol`. What is ours is the order they are
//! sent in: a whole script of statements at once, copies among them, and one wait for all answers.
//! No client library does that without an async runtime below the engine.

pub(super) mod hello;
pub(super) mod script;
pub(super) mod socket;
pub(super) mod talk;
pub(super) mod tls;
pub(super) mod trouble;
pub(super) mod url;

pub(super) use script::{Cell, Grid, Kind, Script};
pub(super) use talk::{Reply, Row, Talk};
pub(super) use trouble::Trouble;
