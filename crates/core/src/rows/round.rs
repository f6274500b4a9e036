//! Rounds: one occasion on which a flow is due for an item.

use crate::ids::{BatchId, FlowId, ItemId};
use crate::task::State;

/// The counters of a round with more than one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Tasks per state.
    pub counts: [u32; 7],
    /// Cancelled ones that block their dependents.
    pub blocking: u32,
    /// The batch it belongs to.
    pub batch: Option<BatchId>,
}

/// Which round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoundKey {
    /// The item.
    pub item: ItemId,
    /// The flow.
    pub flow: FlowId,
    /// Its number, from 1.
    pub round: u32,
}

/// How a round stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundStatus {
    /// Something can still happen by itself.
    Open,
    /// Everything done, or skipped.
    Done,
    /// Something failed, and nothing else can happen by itself.
    Failed,
    /// Everything cancelled.
    Cancelled,
}

impl Round {
    /// How the round stands.
    #[must_use]
    pub fn status(&self) -> RoundStatus {
        let [waiting, held, ready, leased, done, failed, _cancelled] = self.counts;
        let stuck = failed > 0 || self.blocking > 0;
        if held > 0 || ready > 0 || leased > 0 || (waiting > 0 && !stuck) {
            RoundStatus::Open
        } else if stuck {
            RoundStatus::Failed
        } else if done > 0 {
            RoundStatus::Done
        } else {
            RoundStatus::Cancelled
        }
    }
}

impl RoundStatus {
    /// How a round of one task stands.
    #[must_use]
    pub fn of(state: State) -> Self {
        match state {
            State::Waiting | State::Held | State::Ready | State::Leased => Self::Open,
            State::Done => Self::Done,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}
