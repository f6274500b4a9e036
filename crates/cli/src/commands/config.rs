//! `armarius config …`

use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::config::file::File;
use crate::config::{self, DATA_DEFAULT, Resolved, settings};
use crate::paper;

/// Settings: what they are, and where each comes from.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Shows every setting, its value and where that comes from
    Show {
        /// The data folder, whose armarius.toml is read
        #[arg(long, env = "ARMARIUS_DATA", value_name = "DIR")]
        data: Option<PathBuf>,
        /// Show answers as JSON
        #[arg(long)]
        json: bool,
    },
    /// Checks a configuration file
    Check {
        /// The file
        file: PathBuf,
    },
    /// Prints a documented file with all settings as comments
    Example,
}

#[derive(Serialize)]
struct Shown {
    file: Option<String>,
    settings: Vec<Resolved>,
}

pub(crate) fn run(args: Args, named: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    match args.verb {
        Verb::Show { data, json } => {
            let folder = data.clone().unwrap_or_else(|| PathBuf::from(DATA_DEFAULT));
            let file = config::locate(named, Some(&folder))?;
            let given = data.filter(|_| std::env::var_os("ARMARIUS_DATA").is_none());
            let given = given.map(|data| data.display().to_string());
            let settings = config::resolve(given.as_deref(), file.as_ref())?;
            let file = file.map(|file| file.path.display().to_string());
            if file.is_none() && !json {
                eprintln!("no configuration file: there is no armarius.toml in the data folder");
            }
            paper::show(json, &Shown { file, settings }, |shown| {
                let row =
                    |one: &Resolved| [one.key.to_owned(), one.value.join(", "), one.from.clone()];
                paper::table(["setting", "value", "from"], shown.settings.iter().map(row).collect())
            })?;
        }
        Verb::Check { file } => {
            File::read(&file, None)?;
            eprintln!("{} can be used", file.display());
        }
        Verb::Example => paper::line(settings::example().trim_end())?,
    }
    Ok(ExitCode::SUCCESS)
}
