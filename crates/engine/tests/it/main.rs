//! The engine as its callers see it: a lane on a store that fails on demand, under rules so small
//! that every commit can be read as a line of text.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod duties;
mod fake;
mod floor;
mod flying;
mod groups;
mod several;
mod small_world;
mod stopping;
mod together;
mod trouble;
mod waiting;
