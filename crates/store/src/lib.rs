//! Remembers what the rules decided.
//!
//! Two stores behind one seam ([`armarius_engine::seam`]): [`Memory`], the model, plain and
//! obviously right; and [`Sqlite`], one file on a disk that is kept through crashes. Both must
//! leave the same [`World`] after the same commands, and [`conformance`] holds them to it.

pub mod clock;
mod order;
pub mod world;

pub mod memory;
pub mod sqlite;

pub mod conformance;

pub use clock::Clock;
pub use memory::Memory;
pub use sqlite::{Options, Sqlite};
pub use world::World;
