//! Events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Problem, Raw};

/// One element of `POST /api/v1/events`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// The caller's id of this event: the same id never makes a second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The item.
    pub item: String,
    /// What happened.
    pub name: String,
    /// What came of it.
    #[serde(default)]
    pub outcome: Outcome,
    /// More, any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
    /// When it happened, as somebody says: information, the order is that of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Who or what did it, as somebody says; who adds it is known anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// It comes from a history kept elsewhere, under this `id`: it never covers what happened here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// What somebody says about an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// When it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Who or what did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it is called where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It comes from a history kept elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

/// The work an event came of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// The flow.
    pub flow: String,
    /// The step.
    pub step: String,
    /// The round.
    pub round: u32,
    /// The version of the flow, by digest.
    pub version: String,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It worked.
    #[default]
    Success,
    /// It did not.
    Failure,
}

/// What adding an event did, or why it was refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Its number within the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<i64>,
    /// The same id had come before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A fact about an item.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Number within the item, from 1.
    pub n: i64,
    /// What happened.
    pub name: String,
    /// When.
    pub at: String,
    /// Who did it.
    pub actor: String,
    /// What somebody says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Said>,
    /// The work it came of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<i64>,
    /// The state that task went into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The token of the grant it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// More: JSON where it was JSON, else a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Raw>,
    /// Hash of the event, chained to the one before.
    pub hash: String,
}
