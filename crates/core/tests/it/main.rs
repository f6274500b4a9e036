//! Tests of the rules: scripts in, text out.

mod claiming;
mod depending;
mod holding;
mod keys;
mod lab;
mod limiting;
mod looping;
mod notation;
mod promises;
mod properties;
mod refusals;
mod reporting;
mod rewinding;
mod robots;
mod sequences;
mod table;
mod truth;
