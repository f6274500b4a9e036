//! Letters to the outside.

use crate::ids::Time;
use crate::text::Text;

/// Something to be told to somebody outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The body, the same for every delivery.
    pub body: Text,
    /// When it was written.
    pub at: Time,
}

/// A destination of letters: delivered one by one, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Number of the next letter.
    pub next: i64,
    /// Failed tries of the oldest letter.
    pub tries: u32,
    /// When the oldest letter is tried next; `None` when there is none.
    pub due_at: Option<Time>,
}
