//! `cargo xtask fix`: repairs what a machine can repair. `check` only reads; this one writes.

use crate::diagram;
use crate::stage::{Stage, Work, run_all};

/// Clippy first, because what it writes may want formatting.
pub(crate) fn run() -> anyhow::Result<()> {
    let clippy =
        &["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    run_all(&[
        Stage { name: "clippy", work: Work::Cargo(clippy) },
        Stage { name: "fmt", work: Work::Cargo(&["fmt", "--all"]) },
        Stage { name: "diagram", work: Work::Verb("diagram", diagram::write) },
    ])
}
