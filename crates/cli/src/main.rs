//! `armarius`: the one binary.
//!
//! Reading order: `commands` (one file per verb) · `config` (flags, environment, file) · `host`
//! (the server in this process) · `worker` (what runs tasks) · `connect`, `servers` (how a command
//! finds its server) · `own` (a server for one command alone) · `paper`, `progress` (what people
//! see) · `records` (lists that are sent in bulk) · `exit` (how it ends).

mod archives;
mod commands;
mod config;
mod connect;
mod exit;
mod host;
mod limits;
mod log;
mod own;
mod paper;
mod progress;
mod records;
mod servers;
mod signals;
mod stores;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

/// Rows are made on one thread and dropped on another all the time.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Durable work coordination for digital archives.
#[derive(Debug, Parser)]
#[command(name = "armarius", version, after_help = exit::CODES)]
struct Line {
    /// The configuration file; else armarius.toml in the data folder, if it is there
    #[arg(long, env = "ARMARIUS_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    let done = config::line().and_then(|line| commands::run(line.command, line.config));
    match done {
        Ok(code) => code,
        Err(error) => exit::tell(&error),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        config::command(None).debug_assert();
        Line::command().debug_assert();
    }
}
