//! Runs the rules of [`armarius_core`].
//!
//! An [`Engine`] has a thread – a lane – for every shard, which owns that shard's store; the
//! embedded store is one shard. Everybody else holds a [`Handle`] and sends commands; replies leave
//! after the change is durable.
//!
//! Reading order: [`seam`] (what a store must do) · [`Handle`] (the way in) · `order`,
//! [`urgency`], `queue` (the lines commands wait in) · `lane` (group commit) · `hall`, `bell`
//! (claims that wait for work) · `floor` (several lanes as one engine) · `duties` (what a lane does
//! by itself) · [`calendar`] (when schedules fire) · [`clock`], [`chance`] (where time and
//! randomness enter) · [`options`], [`exit`] (bounds and exit codes) · [`output`] (where what tasks
//! write is kept).
//!
//! Private to this workspace; it may change any day.

pub mod calendar;
pub mod chance;
pub mod clock;
pub mod exit;
pub mod options;
pub mod output;
pub mod seam;
pub mod urgency;

mod bell;
mod duties;
mod engine;
mod error;
mod floor;
mod hall;
mod handle;
mod lane;
mod order;
mod queue;
mod readers;
mod stats;
mod wide;

pub use engine::{Engine, StartError};
pub use error::{EngineError, Outcome};
pub use exit::Fatal;
pub use handle::{Handle, check};
pub use options::Options;
pub use order::{OnReplies, OnReply, Request, Seat};
pub use queue::Stage;
pub use stats::{COMMIT_BOUNDS_US, Stats};
pub use wide::Wide;
