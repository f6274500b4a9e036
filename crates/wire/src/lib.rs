//! What crosses a boundary.
//!
//! [`flowfile`]: the flow files that people write. [`v1`]: the bodies of the API. [`client`]: who
//! speaks it.

pub mod client;
pub mod flowfile;
pub mod v1;

pub use flowfile::{FlowFileError, Home, Located, Source};
