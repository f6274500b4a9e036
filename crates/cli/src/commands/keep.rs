//! `armarius keep`: stands above one task until nothing of it is left. Workers start it; people do
//! not.

use std::process::ExitCode;

use crate::worker;

/// Stands above one task until nothing of it is left.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args {} = args;
    worker::keeper::stand()
}
