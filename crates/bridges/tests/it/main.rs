//! The bridges against real other sides.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hook;
mod outbox;
mod premis;
mod repositories;
