//! How each row is written and read: one file per family of tables.
//!
//! Every `…_of` function turns the cells of a row into what they mean and complains when they mean
//! nothing; every `…_row` says them in the order of the table's columns.

pub(super) mod archive;
pub(super) mod batch;
pub(super) mod collection;
pub(super) mod counter;
pub(super) mod edge;
pub(super) mod errand;
pub(super) mod event;
pub(super) mod flow;
pub(super) mod hold;
pub(super) mod idem;
pub(super) mod item;
pub(super) mod key;
pub(super) mod lease;
pub(super) mod letter;
pub(super) mod line;
pub(super) mod manifest;
pub(super) mod round;
pub(super) mod schedule;
pub(super) mod tally;
pub(super) mod task;
