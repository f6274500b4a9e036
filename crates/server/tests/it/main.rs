//! The API as its callers see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod bad_input;
mod bulk;
mod lab;
mod output;
mod reading;
mod rehearsing;
mod sockets;
mod working;
