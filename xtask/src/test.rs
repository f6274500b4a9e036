//! `cargo xtask test`: everything a change must pass, from a machine that has only Rust.

use crate::stage::{Stage, Work, run_all};
use crate::{check, setup};

/// Setup, the checks that only read, then every test; doc tests are among them.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut stages = vec![Stage { name: "setup", work: Work::Verb("setup", setup::run) }];
    stages.extend(check::stages());
    stages.push(Stage { name: "test", work: Work::Cargo(&["test", "--workspace"]) });
    run_all(&stages)
}
