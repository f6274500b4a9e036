//! A task's seven states and the one table of transitions between them.
//!
//! ```text
//!           plan             unblock          grant           succeed
//!   (new) ───────► waiting ───────────► ready ───────► leased ────────► done
//!     └───────────────────────────────►  ▲ ▲             │
//!                plan             release│ └─────────────┤ again, lapse, give-back
//!                                  held ◄┘ hold          │ fail, lapse
//!                                                        └────────────► failed ── retry ──► ready
//!   waiting · ready ── pass ──► done (a milestone)
//!   waiting · held · ready · leased · failed ── supersede, withdraw, skip, cancel ──► cancelled
//! ```

use std::fmt;

/// Where a task stands. No side flags: what is true of a task is its state and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Has unmet dependencies.
    Waiting,
    /// Met a hold on its batch, item or itself.
    Held,
    /// May be claimed, at once or from `ready_at` on.
    Ready,
    /// In the hands of a worker.
    Leased,
    /// Finished well.
    Done,
    /// Finished badly; blocks its dependents until retried or skipped.
    Failed,
    /// Will not be done; its cause says why.
    Cancelled,
}

impl State {
    /// All states, in the order of their counters.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Held,
        Self::Ready,
        Self::Leased,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Position in [`State::ALL`], used for counters and in the stores.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::Waiting => 0,
            Self::Held => 1,
            Self::Ready => 2,
            Self::Leased => 3,
            Self::Done => 4,
            Self::Failed => 5,
            Self::Cancelled => 6,
        }
    }

    /// The state at a position.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// Its name, as people see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more will happen to the task by itself.
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What moves a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A round opened and the task came to be.
    Plan,
    /// The last blocker was satisfied.
    Unblock,
    /// A claim met a hold.
    Hold,
    /// The hold was released.
    Release,
    /// A claim took it.
    Grant,
    /// Its worker reported success.
    Succeed,
    /// Its worker reported a failure that is not retried.
    Fail,
    /// Its worker reported a transient failure, or "not yet".
    Again,
    /// Its worker gave it back.
    GiveBack,
    /// Its lease lapsed, or a deadline passed.
    Lapse,
    /// A success arrived late, under `late: accept`.
    Late,
    /// An operator wants another attempt.
    Retry,
    /// It is a milestone: it is done as soon as nothing is left to wait for.
    Pass,
    /// A newer task replaces it.
    Supersede,
    /// The trigger that opened its round holds no longer.
    Withdraw,
    /// An operator counts it as unnecessary.
    Skip,
    /// An operator does not want it.
    Cancel,
}

impl Verb {
    /// Every verb, in the order of the table.
    pub const ALL: [Self; 17] = [
        Self::Plan,
        Self::Unblock,
        Self::Hold,
        Self::Release,
        Self::Grant,
        Self::Succeed,
        Self::Fail,
        Self::Again,
        Self::GiveBack,
        Self::Lapse,
        Self::Late,
        Self::Retry,
        Self::Pass,
        Self::Supersede,
        Self::Withdraw,
        Self::Skip,
        Self::Cancel,
    ];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Unblock => "unblock",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Grant => "grant",
            Self::Succeed => "succeed",
            Self::Fail => "fail",
            Self::Again => "again",
            Self::GiveBack => "give-back",
            Self::Lapse => "lapse",
            Self::Late => "late",
            Self::Retry => "retry",
            Self::Pass => "pass",
            Self::Supersede => "supersede",
            Self::Withdraw => "withdraw",
            Self::Skip => "skip",
            Self::Cancel => "cancel",
        }
    }
}

use State::{Cancelled, Done, Failed, Held, Leased, Ready, Waiting};

/// A row of the table: a verb, the states it moves a task from, and those it may move it to.
pub type Row = (Verb, &'static [Option<State>], &'static [State]);

/// The table: from which states each verb moves a task, and where to. `None` = the task is new.
/// Whatever is not here cannot happen.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    (Verb::Plan,      &[None],                                                          &[Waiting, Ready]),
    (Verb::Unblock,   &[Some(Waiting)],                                                 &[Ready]),
    (Verb::Hold,      &[Some(Ready)],                                                   &[Held]),
    (Verb::Release,   &[Some(Held)],                                                    &[Ready]),
    (Verb::Grant,     &[Some(Ready)],                                                   &[Leased]),
    (Verb::Succeed,   &[Some(Leased)],                                                  &[Done]),
    (Verb::Fail,      &[Some(Leased)],                                                  &[Failed]),
    (Verb::Again,     &[Some(Leased)],                                                  &[Ready]),
    (Verb::GiveBack,  &[Some(Leased)],                                                  &[Ready]),
    (Verb::Lapse,     &[Some(Leased)],                                                  &[Ready, Failed]),
    (Verb::Late,      &[Some(Held), Some(Ready), Some(Failed)],                         &[Done]),
    (Verb::Retry,     &[Some(Failed), Some(Cancelled)],                                 &[Ready, Waiting]),
    (Verb::Pass,      &[Some(Waiting), Some(Ready)],                                    &[Done]),
    (Verb::Supersede, &[Some(Waiting), Some(Held), Some(Ready), Some(Leased), Some(Failed)], &[Cancelled]),
    (Verb::Withdraw,  &[Some(Waiting), Some(Held), Some(Ready), Some(Leased)],          &[Cancelled]),
    (Verb::Skip,      &[Some(Waiting), Some(Held), Some(Ready), Some(Leased), Some(Failed)], &[Cancelled]),
    (Verb::Cancel,    &[Some(Waiting), Some(Held), Some(Ready), Some(Leased), Some(Failed)], &[Cancelled]),
];

/// Whether the table has this arrow.
#[must_use]
pub fn allowed(from: Option<State>, verb: Verb, to: State) -> bool {
    TABLE.iter().any(|(v, froms, tos)| *v == verb && froms.contains(&from) && tos.contains(&to))
}

/// The table as a diagram for the documentation (Mermaid's state diagram).
#[must_use]
pub fn diagram() -> String {
    let mut lines = vec!["stateDiagram-v2".to_owned()];
    for (verb, froms, tos) in TABLE {
        for from in *froms {
            for to in *tos {
                let from = from.map_or("[*]", State::as_str);
                lines.push(format!("    {from} --> {to}: {}", verb.as_str()));
            }
        }
    }
    for state in State::ALL.into_iter().filter(|s| s.is_settled()) {
        lines.push(format!("    {state} --> [*]"));
    }
    lines.join("\n") + "\n"
}

/// Why a task ended as it did, or waits again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Nothing special.
    None,
    /// Replaced by a newer task.
    Superseded(crate::ids::TaskId),
    /// The trigger holds no longer.
    TriggerGone,
    /// An operator skipped it; its dependents go on.
    Skipped,
    /// An operator cancelled it; its dependents stay blocked.
    Operator,
    /// A failure that another attempt would not mend.
    Permanent,
    /// Transient failures used up the attempts the step allows.
    Exhausted,
    /// It kept losing its workers.
    Poison,
    /// It ran past its hard deadline, or made no progress in time.
    Timeout,
    /// A transient failure; waiting for the next attempt.
    Transient,
    /// Its worker said "not yet".
    NotYet,
}

impl Cause {
    /// Its name and the number kept with it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Superseded(_) => "superseded",
            Self::TriggerGone => "trigger-gone",
            Self::Skipped => "skipped",
            Self::Operator => "operator",
            Self::Permanent => "permanent",
            Self::Exhausted => "exhausted",
            Self::Poison => "poison",
            Self::Timeout => "timeout",
            Self::Transient => "transient",
            Self::NotYet => "not-yet",
        }
    }

    /// Two small numbers for the stores: kind and task.
    #[must_use]
    pub fn to_code(self) -> (i64, i64) {
        match self {
            Self::None => (0, 0),
            Self::Superseded(by) => (1, by.0),
            Self::TriggerGone => (2, 0),
            Self::Skipped => (3, 0),
            Self::Operator => (4, 0),
            Self::Permanent => (5, 0),
            Self::Exhausted => (6, 0),
            Self::Poison => (7, 0),
            Self::Timeout => (8, 0),
            Self::Transient => (9, 0),
            Self::NotYet => (10, 0),
        }
    }

    /// Reads what [`Cause::to_code`] wrote.
    #[must_use]
    pub fn from_code(code: i64, task: i64) -> Option<Self> {
        Some(match code {
            0 => Self::None,
            1 => Self::Superseded(crate::ids::TaskId(task)),
            2 => Self::TriggerGone,
            3 => Self::Skipped,
            4 => Self::Operator,
            5 => Self::Permanent,
            6 => Self::Exhausted,
            7 => Self::Poison,
            8 => Self::Timeout,
            9 => Self::Transient,
            10 => Self::NotYet,
            _ => return None,
        })
    }

    /// Whether a cancelled task with this cause satisfies those who depend on it.
    #[must_use]
    pub fn counts_as_skipped(self) -> bool {
        matches!(self, Self::Superseded(_) | Self::TriggerGone | Self::Skipped)
    }
}
