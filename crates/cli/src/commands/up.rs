//! `armarius up`: everything on this machine.

use std::process::ExitCode;

use crate::host::{self, Crew, Place};

/// Starts server and worker in one process.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    crew: Crew,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { place, crew } = args;
    host::run(&place, Some(crew))
}
