//! Remembers what the rules decided.
//!
//! Three stores behind one seam ([`armarius_engine::seam`]): [`Memory`], the model, plain and
//! obviously right; [`Sqlite`], one file on a disk that is kept through crashes; and [`Postgres`],
//! a database that many servers share. All must leave the same [`World`] after the same commands,
//! and [`conformance`] holds them to it.

pub mod chain;
pub mod clock;
mod codes;
mod grips;
mod order;
mod refs;
pub mod world;

pub mod memory;
pub mod output;
pub mod postgres;
pub mod sqlite;

pub mod conformance;
pub mod copy;

pub use clock::Clock;
pub use memory::Memory;
pub use output::OutputFiles;
pub use postgres::Postgres;
pub use sqlite::{Options, Sqlite};
pub use world::World;
