//! `POST /api/v1/claims`: a worker asks for work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Raw;

/// What a worker asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The worker's name, for people.
    pub worker: String,
    /// What it can do: it gets steps whose labels are all among these.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Only these steps, each written `flow.step`; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Only these collections; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<String>,
    /// Only steps that are run in one of these ways; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Way>,
    /// Tasks it runs at once in all; for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// At most so many tasks.
    #[serde(default = "one")]
    pub max: u32,
    /// How long to wait for work when there is none.
    #[serde(default)]
    pub wait_s: u32,
}

fn one() -> u32 {
    1
}

/// A way to run a step.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A program with its arguments.
    Command,
    /// A text for a shell.
    Script,
    /// A command or script in a container.
    Image,
    /// Whoever claims it knows what to do.
    Outside,
    /// A built-in step.
    BuiltIn,
}

impl From<Way> for armarius_core::flow::Way {
    fn from(way: Way) -> Self {
        match way {
            Way::Command => Self::Command,
            Way::Script => Self::Script,
            Way::Image => Self::Image,
            Way::Outside => Self::Outside,
            Way::BuiltIn => Self::BuiltIn,
        }
    }
}

/// Work.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// The lease's name, to be kept secret.
    pub lease: String,
    /// Renew within this time, counted from the request.
    pub ttl_s: u64,
    /// The tasks.
    pub tasks: Vec<Task>,
}

/// One task with everything its worker needs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its number.
    pub task: i64,
    /// Its address, `flow.step@collection/kind/key#part~round`.
    pub address: String,
    /// Its token: the fencing number of this grant. Passed back with the report as it came.
    pub token: String,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// The item.
    pub item: Item,
    /// The flow.
    pub flow: String,
    /// The step.
    pub step: String,
    /// The part, empty when there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// The round, from 1.
    pub round: u32,
    /// The step's default parameters, overlaid by the submission's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Raw>,
    /// What is to be run.
    pub action: Action,
    /// Environment the task gets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The secrets the step asks for, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, Secret>,
    /// Those of them that the server does not have: the task cannot be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets_missing: Vec<String>,
    /// Working directory below the task's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Hard deadline of this attempt.
    pub timeout_s: u64,
    /// Longest silence of this attempt; say `progress` with a heartbeat before it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_timeout_s: Option<u64>,
    /// The version of the flow, by digest.
    pub version: String,
    /// The revision it works on, where the item is one of an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
}

/// The revision a task works on.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// The archive.
    pub archive: String,
    /// `svn` or `git`.
    pub kind: String,
    /// Where its repository is, as the server sees it.
    pub repo: String,
    /// The revision's number.
    pub number: i64,
    /// What the repository calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What the repository calls the one before.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub previous_id: String,
    /// How many revisions made by tasks stand behind this task.
    pub depth: u32,
    /// The step wants everything at that revision.
    #[serde(default)]
    pub source: bool,
}

/// A value that is shown to nobody but its task.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The item of a task.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// `collection/kind/key`.
    pub address: String,
    /// The collection.
    pub collection: String,
    /// The kind.
    pub kind: String,
    /// The key within the kind.
    pub key: String,
    /// Position in a sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<i64>,
    /// Content models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Free attributes, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Raw>,
}

/// What is run: exactly one of `command`, `script` and `run` is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// A program with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// A text for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The shell of the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// A built-in step; `outside` means that whoever claims it knows what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Container image for the command or script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
