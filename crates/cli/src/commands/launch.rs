//! `armarius launch`: becomes a task when its worker says so. Workers start it; people do not.

use std::process::ExitCode;

use crate::worker;

/// Becomes a task when its worker says so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { argv } = args;
    Ok(worker::launch::stand_by(&argv)?)
}
