//! `armarius completions`: for the shell.

use std::process::ExitCode;

use crate::config;

/// Prints completions for a shell.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut config::command(None), "armarius", &mut text);
    crate::paper::line(String::from_utf8_lossy(&text).trim_end())?;
    Ok(ExitCode::SUCCESS)
}
