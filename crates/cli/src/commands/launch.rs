//! `armarius launch`: becomes a task when its keeper says so. Workers start it; people do not.

use std::process::ExitCode;

use crate::worker;

/// Becomes a task when its keeper says so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it may take, as JSON
    bounds: String,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    worker::launch::stand_by(&args.bounds, &args.argv)
}
