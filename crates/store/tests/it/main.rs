//! The stores, held to the same behaviour.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod conformance;
mod differential;
mod file;
mod output;
mod postgres;
mod process;
mod rows;
mod verify;
mod world;
