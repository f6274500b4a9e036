//! The binary as people use it: real processes, real files, real signals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archives;
mod bounds;
mod browser;
mod browsing;
mod copying;
mod dying;
mod isolating;
mod lab;
mod line;
mod lists;
mod losing;
mod output;
mod posting;
mod robots;
mod running;
mod serving;
mod settings;
mod sharing;
mod signing;
mod steering;
mod talking;
mod watching;
