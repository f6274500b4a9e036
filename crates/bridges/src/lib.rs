//! Speaks to other systems, through the engine's handle.
//!
//! [`outbox`]: delivers letters.

pub mod outbox;
