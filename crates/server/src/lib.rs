//! Speaks HTTP: the API, who may use it, and how it is served.
//!
//! The only async crate of ours below the binary. It talks to the engine through its handle and
//! never blocks a thread of the runtime: commands are answered through callbacks, questions run on
//! a small pool of threads beside it.
//!
//! Reading order: [`access`] (which route is for whom) · `identity`, [`keys`] (who is asking) ·
//! `router` (the whole surface on one page) · `api` (one file per noun) · `problem` (how "no" is
//! said) · `body` (what is taken from a request) · `app`, `look` (commands and questions) · `shelf`
//! (output and secrets, beside the store) · [`repositories`] (what is asked of archives) ·
//! `attendance` (which workers ask) ·
//! [`listen`] (sockets, limits, stopping).

pub mod access;
pub mod keys;
pub mod listen;
pub mod repositories;

mod api;
mod app;
mod attendance;
mod body;
mod etag;
mod feed;
mod identity;
mod look;
mod metrics;
mod openapi;
mod pages;
mod problem;
mod rates;
mod registry;
mod rehearse;
mod router;
mod session;
mod shelf;
mod stream;
mod verdicts;

pub use app::{App, Settings};
pub use rates::Rate;
pub use router::router;
pub use shelf::{Shelf, file_name};
