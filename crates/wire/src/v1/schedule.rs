//! `GET /api/v1/schedules`: what fires by itself, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A schedule.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The collection.
    pub collection: String,
    /// The flow.
    pub flow: String,
    /// The item its rounds are on.
    pub item: String,
    /// The cron expression.
    pub cron: String,
    /// The time zone it is read in.
    pub tz: String,
    /// What happens to slots that passed unseen: `latest`, `all` or `skip`.
    pub missed: String,
    /// What happens when the work of the previous slot is still open: `skip`, `allow`, `replace`.
    pub overlap: String,
    /// The newest slot that was dealt with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The next slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
