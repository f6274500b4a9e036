//! How the server is: `GET /api/v1/stats`, `/api/v1/durability`, `/healthz`, `/readyz`.

use armarius_core::task::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// With unmet dependencies.
    pub waiting: i64,
    /// That met a hold.
    pub held: i64,
    /// That may be claimed.
    pub ready: i64,
    /// In the hands of workers.
    pub leased: i64,
    /// Finished well.
    pub done: i64,
    /// Finished badly.
    pub failed: i64,
    /// That will not be done.
    pub cancelled: i64,
}

impl Counts {
    /// Adds the counts of a queue.
    pub fn add(&mut self, counts: [i64; 7]) {
        for (state, n) in State::ALL.into_iter().zip(counts) {
            *self.of_mut(state) += n;
        }
    }

    fn of_mut(&mut self, state: State) -> &mut i64 {
        match state {
            State::Waiting => &mut self.waiting,
            State::Held => &mut self.held,
            State::Ready => &mut self.ready,
            State::Leased => &mut self.leased,
            State::Done => &mut self.done,
            State::Failed => &mut self.failed,
            State::Cancelled => &mut self.cancelled,
        }
    }
}

/// What the server has done since it started, and what it holds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// The program's version.
    pub version: String,
    /// How long it has been running.
    pub uptime_s: u64,
    /// `running`, `stopping`, `stopped` or `failed`.
    pub stage: String,
    /// Tasks by state, of the collections the key may see.
    pub tasks: Counts,
    /// Collections the key may see.
    pub collections: usize,
    /// Commits made durable.
    pub commits: u64,
    /// Commands answered.
    pub commands: u64,
    /// Commands refused.
    pub refused: u64,
    /// Commands that failed for another reason.
    pub failed: u64,
    /// Rows written.
    pub rows: u64,
    /// Commands waiting.
    pub waiting: usize,
    /// Claims that wait for work.
    pub parked: usize,
    /// Half of the latest commits took no longer than this.
    pub commit_p50_us: u64,
    /// All but one in a hundred of the latest commits took no longer than this.
    pub commit_p99_us: u64,
}

/// What the store is and promises.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Durability {
    /// `memory`, `sqlite`, `postgres`.
    pub store: String,
    /// When a commit is on disk, in the words of the store's own setting.
    #[serde(default)]
    pub sync: String,
    /// What an acknowledged change survives.
    pub promise: String,
}

/// Whether the server is well, or takes requests.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`, or what is wrong.
    pub status: String,
}
