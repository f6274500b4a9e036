//! A flow's definition: what wakes it, its steps, their edges and policies.
//!
//! These are the meant things, with every default filled in. How a definition is written down is
//! the business of [`codec`] (canonical JSON, from which the digest is made) and of the flow file
//! in the wire crate; what makes a definition wrong is in [`check`].

pub mod check;
pub mod codec;
pub mod filter;
pub mod revisions;

use std::collections::BTreeMap;

use crate::ids::Span;
use crate::text::{Name, Text};

/// The SHA-256 of a flow's canonical JSON.
pub type Digest = [u8; 32];

/// A whole definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Name within its collection.
    pub name: Name,
    /// What wakes it.
    pub on: On,
    /// Tie-break after priority.
    pub order: Order,
    /// Event appended to the item when a round settles.
    pub records: Option<Name>,
    /// The work changes the item's content.
    pub touches: bool,
    /// Only one claimant at a time may work for this flow.
    pub singleton: bool,
    /// Most tasks one claim takes from this flow.
    pub max_items: u32,
    /// Most tasks of this flow in work at once.
    pub concurrency: Option<u32>,
    /// How rows × columns are bundled; only for `on: pairs`.
    pub pairs: Option<Pairs>,
    /// Roles and splitting of lots; only for `on: lot`.
    pub lots: Option<Lots>,
    /// The steps, in the order of the file.
    pub tasks: Vec<Step>,
}

/// What wakes a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// A revision of an archive.
    Commit {
        /// Only when a changed path matches one of these.
        paths: Vec<Text>,
        /// Never for revisions of these authors.
        ignore_authors: Vec<Text>,
    },
    /// An item whose marks satisfy a query.
    Items(Query),
    /// A published lot of a dataset.
    Lot,
    /// A batch submitted under a profile.
    Submission,
    /// Open cells of rows × columns.
    Pairs {
        /// Kind of the rows.
        rows: Name,
        /// Kind of the columns.
        columns: Name,
    },
    /// A calendar.
    Schedule(Calendar),
    /// Somebody asks.
    Manual,
}

/// A standing query over one item's marks. An empty list is no condition; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Any of these kinds.
    pub kinds: Vec<Name>,
    /// All of these types (content models).
    pub types: Vec<Name>,
    /// Newest event of each of these names is a success.
    pub success: Vec<Name>,
    /// Newest event of each of these names is a failure.
    pub failed: Vec<Name>,
    /// No event of these names at all.
    pub absent: Vec<Name>,
    /// Absent, or based on an older content of the item.
    pub stale: Vec<Name>,
    /// Only these keys.
    pub items: Vec<Text>,
}

impl Query {
    /// Every event name it mentions.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        [&self.success, &self.failed, &self.absent, &self.stale].into_iter().flatten()
    }
}

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// The cron expression.
    pub cron: Text,
    /// The IANA time zone it is read in.
    pub tz: Text,
    /// What happens to slots that passed unseen.
    pub missed: Missed,
    /// What happens when the previous slot's work is still open.
    pub overlap: Overlap,
}

/// What happens to slots that passed while nobody was looking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// Only the newest of them fires.
    #[default]
    Latest,
    /// Each of them fires, oldest first.
    All,
    /// None of them fires.
    Skip,
}

/// What happens when the previous slot's round has not settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// The new slot is recorded as skipped.
    #[default]
    Skip,
    /// Both run.
    Allow,
    /// The previous round is superseded.
    Replace,
}

/// Tie-break between tasks of equal priority, by the item's `first_seen_at`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Oldest item first.
    #[default]
    Oldest,
    /// Newest item first.
    Newest,
}

/// Bundling of rows × columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Bundle by item (row).
    pub bundle_by_item: bool,
    /// Most columns in one lease.
    pub max_columns: u32,
    /// Length of the lease.
    pub lease: Span,
    /// Life of an offer nobody took; shorter than the lease.
    pub offer_ttl: Span,
}

/// Roles of datasets in an arc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lots {
    /// Role → dataset it reads.
    pub sources: BTreeMap<Name, Text>,
    /// Role → dataset it writes.
    pub sinks: BTreeMap<Name, Text>,
    /// How a lot is split into parts.
    pub parts: Parts,
    /// What an empty lot does.
    pub on_empty: OnEmpty,
}

/// How a lot is split into parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// One part for the whole lot.
    #[default]
    Whole,
    /// One part per distinct value of these path segments (`year`, `month` …).
    By(Vec<Name>),
}

/// What an empty lot does to its arc.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEmpty {
    /// Nothing runs; the sink's lot is empty too.
    #[default]
    Pass,
    /// The step runs as for any lot.
    Run,
}

/// One step of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name within the flow.
    pub name: Name,
    /// What must be settled before it may run.
    pub depends: Vec<Depend>,
    /// What it supersedes at the moment it becomes ready.
    pub cancels: Vec<Reference>,
    /// Holds the archive's lock and the next revision.
    pub exclusive: bool,
    /// What is run.
    pub action: Action,
    /// Container image for the command or script.
    pub image: Option<Text>,
    /// Environment the task gets.
    pub env: BTreeMap<Text, Text>,
    /// Names of secrets the task gets.
    pub secrets: Vec<Name>,
    /// Default parameters, overridden by the submission's.
    pub params: BTreeMap<Text, Text>,
    /// Wants an export of the archive at the revision.
    pub source: bool,
    /// Working directory below the task's own.
    pub workdir: Option<Text>,
    /// Labels a worker must have.
    pub labels: Vec<Name>,
    /// Added to the item's priority.
    pub priority: i32,
    /// Hard deadline of one attempt.
    pub timeout: Span,
    /// Longest silence of one attempt.
    pub progress_timeout: Option<Span>,
    /// Liveness of the lease.
    pub ttl: Span,
    /// Transient failures that are retried.
    pub retries: u32,
    /// Waiting time between attempts.
    pub backoff: Backoff,
    /// Meaning of exit codes, where it differs from the general rule.
    pub exit_codes: BTreeMap<i32, Class>,
    /// What a late success does.
    pub late: Late,
    /// Concurrency per key.
    pub limit: Option<Limit>,
}

/// A dependency and what satisfies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depend {
    /// On what.
    pub on: Reference,
    /// What satisfies it.
    pub when: When,
}

/// What satisfies a dependency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Done, or cancelled as skipped.
    #[default]
    Done,
    /// Any end, also a failure.
    Settled,
}

/// Another task, as a definition names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// A task of the same round (or revision).
    Task(Name),
    /// This very task in the previous revision.
    Prev,
    /// The named task in the previous revision.
    PrevTask(Name),
}

/// What a step runs. Exactly one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A program with its arguments.
    Command(Vec<Text>),
    /// A text for a shell.
    Script {
        /// The text.
        text: Text,
        /// The shell, named.
        shell: Text,
    },
    /// A built-in step; `outside` means: done by whoever claims it over the API.
    Run(Name),
}

/// How a step is run: what a worker must be able to do, whatever its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

impl Way {
    /// All, in the order of their numbers in the stores.
    pub const ALL: [Self; 5] =
        [Self::Command, Self::Script, Self::Image, Self::Outside, Self::BuiltIn];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Script => "script",
            Self::Image => "image",
            Self::Outside => "outside",
            Self::BuiltIn => "built-in",
        }
    }
}

/// Waiting time between attempts: doubles from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub min: Span,
    /// At most.
    pub max: Span,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It worked.
    Success,
    /// Another attempt would not help.
    Permanent,
    /// Another attempt may help.
    Transient,
    /// It is too early; ask again later, no attempt is spent.
    NotYet,
}

/// What a late success does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// It is recorded and changes nothing.
    #[default]
    Record,
    /// It completes the task if nobody holds it.
    Accept,
}

/// Concurrency per key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The parameter whose value is the key.
    pub key: Text,
    /// Most tasks with one value at once.
    pub max: u32,
}

/// Tasks one claim takes from a flow, unless the flow says otherwise.
pub const MAX_ITEMS_DEFAULT: u32 = 100;
/// Hard deadline of an attempt, unless the step says otherwise.
pub const TIMEOUT_DEFAULT: Span = Span::seconds(3_600);
/// Liveness of a lease, unless the step says otherwise.
pub const TTL_DEFAULT: Span = Span::seconds(30);
/// Back-off, unless the step says otherwise.
pub const BACKOFF_DEFAULT: Backoff = Backoff { min: Span::seconds(10), max: Span::seconds(3_600) };
/// The built-in step that stands for work done by whoever claims it.
pub const RUN_OUTSIDE: &str = "outside";
/// The built-in step that is done as soon as what it depends on is settled: a place to wait for.
pub const RUN_MILESTONE: &str = "milestone";

impl Flow {
    /// A flow somebody starts by hand, with every default and no steps yet.
    #[must_use]
    pub fn manual(name: Name) -> Self {
        Self {
            name,
            on: On::Manual,
            order: Order::Oldest,
            records: None,
            touches: false,
            singleton: false,
            max_items: MAX_ITEMS_DEFAULT,
            concurrency: None,
            pairs: None,
            lots: None,
            tasks: Vec::new(),
        }
    }

    /// The step of that name.
    #[must_use]
    pub fn step(&self, name: &Name) -> Option<&Step> {
        self.tasks.iter().find(|s| s.name == *name)
    }
}

impl Step {
    /// A step done by whoever claims it, with every default.
    #[must_use]
    pub fn outside(name: Name) -> Self {
        Self {
            name,
            depends: Vec::new(),
            cancels: Vec::new(),
            exclusive: false,
            action: Action::Run(Name::trusted(RUN_OUTSIDE)),
            image: None,
            env: BTreeMap::new(),
            secrets: Vec::new(),
            params: BTreeMap::new(),
            source: false,
            workdir: None,
            labels: Vec::new(),
            priority: 0,
            timeout: TIMEOUT_DEFAULT,
            progress_timeout: None,
            ttl: TTL_DEFAULT,
            retries: 0,
            backoff: BACKOFF_DEFAULT,
            exit_codes: BTreeMap::new(),
            late: Late::Record,
            limit: None,
        }
    }

    /// Whether it is done by itself as soon as nothing is left to wait for.
    #[must_use]
    pub fn is_milestone(&self) -> bool {
        match &self.action {
            Action::Run(name) => name.as_str() == RUN_MILESTONE,
            Action::Command(_) | Action::Script { .. } => false,
        }
    }

    /// How it is run.
    #[must_use]
    pub fn way(&self) -> Way {
        match &self.action {
            Action::Run(name) if name.as_str() == RUN_OUTSIDE => Way::Outside,
            Action::Run(_) => Way::BuiltIn,
            Action::Command(_) | Action::Script { .. } if self.image.is_some() => Way::Image,
            Action::Command(_) => Way::Command,
            Action::Script { .. } => Way::Script,
        }
    }

    /// What an exit code means for this step: 0 success, 75 transient, 99 not yet, any other
    /// permanent, unless the step maps it.
    #[must_use]
    pub fn class_of_exit(&self, code: i32) -> Class {
        self.exit_codes.get(&code).copied().unwrap_or(match code {
            0 => Class::Success,
            75 => Class::Transient,
            99 => Class::NotYet,
            _ => Class::Permanent,
        })
    }

    /// The waiting time after the `failures`-th transient failure.
    #[must_use]
    pub fn backoff_after(&self, failures: u32) -> Span {
        let doublings = failures.saturating_sub(1).min(40);
        let span = self.backoff.min.0.saturating_mul(1_i64 << doublings);
        Span(span.min(self.backoff.max.0))
    }
}
