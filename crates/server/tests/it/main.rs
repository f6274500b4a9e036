//! The API as its callers see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod archives;
mod bad_input;
mod bulk;
mod feeding;
mod lab;
mod operations;
mod output;
mod pages;
mod reading;
mod rehearsing;
mod robots;
mod signing;
mod sockets;
mod working;
