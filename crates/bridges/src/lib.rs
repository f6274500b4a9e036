//! Speaks to other systems, through the engine's handle.
//!
//! [`outbox`]: delivers letters. [`premis`]: histories of items as PREMIS records, out and in.

pub mod outbox;
pub mod premis;
