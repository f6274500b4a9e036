//! Tests of the rules: scripts in, text out.

mod claiming;
mod depending;
mod holding;
mod keys;
mod lab;
mod limiting;
mod notation;
mod properties;
mod refusals;
mod reporting;
mod robots;
mod sequences;
mod table;
