//! Speaks to other systems, through the engine's handle.
//!
//! [`archive`]: reads repositories and plans their revisions. [`outbox`]: delivers letters.
//! [`premis`]: histories of items as PREMIS records, out and in.

pub mod archive;
pub mod outbox;
pub mod premis;
