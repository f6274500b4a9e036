//! Tests of the rules: scripts in, text out.

mod archives;
mod claiming;
mod depending;
mod holding;
mod keys;
mod lab;
mod lab_revisions;
mod limiting;
mod looping;
mod notation;
mod promises;
mod properties;
mod refusals;
mod reporting;
mod revision_orders;
mod revisions;
mod rewinding;
mod robots;
mod sequences;
mod sessions;
mod table;
mod truth;
