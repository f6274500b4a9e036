//! What is promised, held against crashes, faults and another way to do the same.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod proxy;
mod room;
mod soak;
mod tracer;
mod watched;

mod chaos;
mod copy;
mod crash;
mod differential;
mod doctor;
mod failover;
mod faults;
mod named;
mod revisions;
mod robots;
mod several;
