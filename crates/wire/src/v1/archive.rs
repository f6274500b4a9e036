//! Archives and their revisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Raw;

/// `PUT /api/v1/archives/{archive}`: a repository to be watched.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Where the repository is, as the server sees it: a path or a URL.
    pub repo: String,
    /// `svn` or `git`; found out when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The branch whose first parents are counted; the one checked out when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The first revision to plan; 1 when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Whether the definitions in the repository may run.
    #[serde(default)]
    pub trust: bool,
    /// Revisions made by tasks that may stand behind one another before nothing more is run, 1 to
    /// 64; 8 when it was never given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth_max: Option<u32>,
}

/// An archive.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Archive {
    /// Its name.
    pub name: String,
    /// `svn` or `git`.
    pub kind: String,
    /// Where its repository is.
    pub repo: String,
    /// The branch that is counted along; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub branch: String,
    /// The first revision that is planned.
    pub from: i64,
    /// Whether its definitions may run.
    pub trusted: bool,
    /// `watched`, `unreachable`, `stopped` or `removed`.
    pub state: String,
    /// Why it is in that state.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Since when.
    pub since: String,
    /// The youngest revision anybody has seen, 0 when there is none.
    pub youngest: i64,
    /// Revisions up to this one are planned.
    pub planned: i64,
    /// The revision that is awaited, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<Awaiting>,
    /// What the oldest revision whose COMMIT is not done waits for, line by line; in a list only
    /// the task that stops the archive.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub held_back: String,
    /// Failed tasks, as `NAME@REVISION`: the same task of later revisions waits behind each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<String>,
    /// The flows that the planned revision defines.
    pub flows: Vec<String>,
    /// Revisions made by tasks that may stand behind one another before nothing more is run.
    #[serde(default)]
    pub depth_max: u32,
}

/// A revision that is awaited.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Awaiting {
    /// Which.
    pub revision: i64,
    /// Since when.
    pub since: String,
}

/// `POST /api/v1/archives/{archive}/notices`: there is a revision. It means: look.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notice {
    /// Which; without it just: look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The transaction it came from, as the hook was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<String>,
}

/// `POST /api/v1/archives/{archive}/skip`: nothing of the awaited revision runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// Which.
    pub revision: i64,
    /// Why.
    pub reason: String,
}

/// `POST /api/v1/archives/{archive}/accept`: the history of a stopped archive is taken as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// Why.
    pub reason: String,
}

/// How an archive goes on whose history was accepted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// Revisions up to this one stay as they were planned.
    pub planned: i64,
    /// The youngest revision of the repository; below `planned`, the archive waits for more.
    pub youngest: i64,
    /// What the planned revision was: its id, or that of the whole repository.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub was: String,
    /// What it is now; empty when the repository has no such revision.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub is: String,
}

/// `POST /api/v1/archives/{archive}/start`: a flow is started at a revision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The flow, as it is defined at that revision.
    pub flow: String,
    /// The revision; the newest planned one when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Parameters, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Raw>,
    /// The same id never starts it twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What was started.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// The revision.
    pub revision: i64,
    /// The round of the flow on it.
    pub round: u32,
    /// Its first task.
    pub task: i64,
    /// The same id had come before.
    pub repeated: bool,
}

/// A revision with its tasks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// Its number.
    pub revision: i64,
    /// `awaited`, `waiting`, `open`, `done`, `failed`, or why nothing of it runs: `invalid`,
    /// `untrusted`, `runaway`, `skipped`.
    pub state: String,
    /// When it was first heard of.
    pub seen_at: String,
    /// What the repository calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Who made it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// When, by the repository's clock.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// What its author said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How many paths it changed.
    #[serde(default)]
    pub paths: u64,
    /// The task that made it, if one did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// How many revisions made by tasks stand behind it.
    #[serde(default)]
    pub depth: u32,
    /// Why nothing of it runs, or what was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Its tasks, in the order they were planned.
    pub tasks: Vec<Task>,
}

/// A task of a revision.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Its number.
    pub task: i64,
    /// Its name within the revision.
    pub name: String,
    /// The flow it belongs to.
    pub flow: String,
    /// The round; above 1 when it was started again.
    pub round: u32,
    /// Its state.
    pub state: String,
    /// Why it is in that state.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// The task that replaced it, as `NAME@REVISION`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub superseded_by: String,
    /// How often it was taken up.
    pub attempts: u32,
    /// When it was planned.
    pub planned_at: String,
    /// When it was last taken up.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started_at: String,
    /// When it settled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended_at: String,
    /// Who took it up last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worker: String,
    /// What its last run ended with, where it was a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// What whoever cancelled or skipped it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The failed task of an earlier revision that this one waits behind, as `NAME@REVISION`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub behind: String,
    /// Why there is such a task: `commit`, `schedule`, `robot` or `manual`.
    #[serde(default)]
    pub trigger: String,
    /// The moment of the calendar it stands for, when a schedule made it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub slot: String,
    /// Who started it, when somebody did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub started_by: String,
    /// The parameters it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Raw>,
    /// How much longer it would probably have run, had it not been superseded: such tasks that came
    /// to their end on the same page took so long. In milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_ms: Option<u64>,
}
