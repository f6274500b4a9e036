//! `cargo xtask check`: what can be said about the source without running it. Reads only.

use crate::stage::{Stage, Work, run_all};
use crate::{diagram, tidy};

/// Runs the checks.
pub(crate) fn run() -> anyhow::Result<()> {
    run_all(&stages())
}

/// The checks, quickest first.
pub(crate) fn stages() -> Vec<Stage> {
    let clippy = &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    vec![
        Stage { name: "fmt", work: Work::Cargo(&["fmt", "--all", "--check"]) },
        Stage { name: "tidy", work: Work::Verb("tidy", tidy::run) },
        Stage { name: "diagram", work: Work::Verb("diagram --check", diagram::check) },
        Stage { name: "clippy", work: Work::Cargo(clippy) },
    ]
}
