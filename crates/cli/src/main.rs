//! `armarius`: the one binary.
//!
//! Reading order: `commands` (one file per verb) · `host` (the server in this process) · `worker`
//! (what runs tasks) · `connect`, `servers` (how a command finds its server) · `paper` (what people
//! see) · `exit` (how it ends).

mod commands;
mod connect;
mod exit;
mod host;
mod paper;
mod servers;
mod signals;
mod worker;

use std::process::ExitCode;

use clap::Parser;

/// Durable work coordination for digital archives.
#[derive(Debug, Parser)]
#[command(name = "armarius", version, after_help = exit::CODES)]
struct Line {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    match commands::run(Line::parse().command) {
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
        Line::command().debug_assert();
    }
}
