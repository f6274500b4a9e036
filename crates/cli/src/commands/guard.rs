//! `armarius guard`: ends the tasks of a worker that died. Workers start it; people do not.

use std::process::ExitCode;

use crate::worker;

/// Ends the tasks of a worker that died.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args {} = args;
    worker::guard::stand(std::io::stdin().lock())?;
    Ok(ExitCode::SUCCESS)
}
