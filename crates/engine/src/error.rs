//! What a caller is told when there is no reply, by whose turn it is.

use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::Reply;

/// What comes of a command.
pub type Outcome = Result<Reply, EngineError>;

/// Why there is no reply. In every case but [`EngineError::OutcomeUnknown`] and
/// [`EngineError::Stopped`] nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The caller's turn: the answer is no.
    #[error("{0}")]
    Refused(Refusal),
    /// The operator's turn: there is no room, not even for a report of running work.
    #[error("store is full: {0}")]
    Full(String),
    /// Nobody's fault: trying again later may work.
    #[error("store is unavailable: {0}")]
    Unavailable(String),
    /// Nobody's fault: it may have been done or not. The same request with the same idempotency key
    /// does it once, whichever it was.
    #[error("whether the change was made is not known: {0}")]
    OutcomeUnknown(String),
    /// The program's fault: this command breaks it; other commands are not disturbed.
    #[error("internal error: {0}")]
    Internal(String),
    /// The engine stopped before it could answer. Ask again, with the same idempotency key, once
    /// it is back.
    #[error("engine has stopped")]
    Stopped,
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Too many commands are waiting.
pub(crate) fn busy() -> EngineError {
    Refusal::new(Code::Busy, "too many commands are waiting")
        .hint("ask again in a moment; nothing was changed")
        .into()
}

/// There is no room for new work.
pub(crate) fn no_room() -> EngineError {
    Refusal::new(Code::StoreFull, "the store is short of space and takes no new work")
        .hint("free space on the store's disk; running work can still be reported")
        .into()
}
