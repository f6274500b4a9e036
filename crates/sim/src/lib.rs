//! Seeded scripts and what plays them. For tests only; nothing is built on this crate.
//!
//! A [`Script`] makes up whole lives of collections, flows, tasks and batches, one command at a
//! time, and reacts to the answers. The same seed always asks the same. A [`Tape`] is a script that
//! was played once on the model, with every answer; it can be played again on any store
//! ([`Player`], or [`Pilot`] with a commit always under way) and through a running engine
//! ([`Bench`]), as a whole or from any step on.
//!
//! Reading order: [`dice`] · [`script`] · [`player`] · [`pilot`] · [`tape`] · [`bench`] · [`fan`].

pub mod bench;
pub mod dice;
pub mod fan;
pub mod node;
pub mod pilot;
pub mod player;
pub mod script;
pub mod tape;

pub use bench::Bench;
pub use dice::Dice;
pub use pilot::Pilot;
pub use player::Player;
pub use script::{Script, Step};
pub use tape::Tape;
