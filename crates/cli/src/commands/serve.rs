//! `armarius serve`: a server.

use std::process::ExitCode;

use crate::host::{self, Place};

/// Starts a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Args { place } = args;
    host::run(&place, None)
}
