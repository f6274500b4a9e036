//! Settings: a flag goes before the environment, that before the file, that before the default.
//!
//! One table ([`settings`]) names every setting. The command line is made first; then each setting
//! gets its variable, and what the file says becomes the default of its flag. So one machine, the
//! parser of the command line, decides which value counts, and can say where it came from.

pub(crate) mod file;
pub(crate) mod settings;

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use self::file::File;
use self::settings::{Kind, SETTINGS, Setting};
use crate::Line;

/// The file in the data folder.
pub(crate) const FILE_NAME: &str = "armarius.toml";
/// The data folder when nothing else is said.
pub(crate) const DATA_DEFAULT: &str = "armarius-data";

/// Reads the command line, with the environment and the file behind it.
pub(crate) fn line() -> anyhow::Result<Line> {
    let mut matches = command(None).get_matches();
    if let Some(file) = find(&matches)? {
        matches = command(Some(&file)).get_matches();
    }
    Line::from_arg_matches(&matches).map_err(|error| error.exit())
}

/// The command line in which settings know their variables, and what the file says about them.
pub(crate) fn command(file: Option<&File>) -> clap::Command {
    let mut line = Line::command();
    for setting in SETTINGS {
        let said = file.and_then(|file| file.entry(setting.key));
        for name in setting.commands {
            line = line.mut_subcommand(*name, |command| {
                command.mut_arg(setting.arg, |arg| match said {
                    Some(entry) => arg.env(setting.env).default_values(entry.values.clone()),
                    None => arg.env(setting.env),
                })
            });
        }
    }
    line
}

/// The file that counts for a command line: the one that is named, else the one in the data folder
/// of a command that has settings.
fn find(matches: &ArgMatches) -> anyhow::Result<Option<File>> {
    let Some((name, command)) = matches.subcommand() else { return Ok(None) };
    if name == "config" || !SETTINGS.iter().any(|setting| setting.commands.contains(&name)) {
        return Ok(None);
    }
    let named = matches.get_one::<PathBuf>("config").cloned();
    let data = command.try_get_one::<PathBuf>("data").ok().flatten();
    locate(named, data)
}

/// Reads the named file, or the one in a data folder if there is one.
pub(crate) fn locate(
    named: Option<PathBuf>,
    data: Option<&PathBuf>,
) -> anyhow::Result<Option<File>> {
    if let Some(path) = named {
        return File::read(&path, None).map(Some);
    }
    let Some(data) = data else { return Ok(None) };
    let path = data.join(FILE_NAME);
    if path.exists() { File::read(&path, Some(data)).map(Some) } else { Ok(None) }
}

/// A setting's value and where it came from.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Resolved {
    pub(crate) key: &'static str,
    /// One, or several of a list.
    pub(crate) value: Vec<String>,
    pub(crate) from: String,
}

/// Every setting as a command started now would see it.
pub(crate) fn resolve(data: Option<&str>, file: Option<&File>) -> anyhow::Result<Vec<Resolved>> {
    let mut resolved = Vec::new();
    for setting in SETTINGS {
        let name = setting.commands.first().copied().unwrap_or_default();
        let matches = command(file).try_get_matches_from(["armarius", name])?;
        let Some((_, matches)) = matches.subcommand() else { continue };
        let mut one = one(setting, matches, file);
        if let (Some(data), "data") = (data, setting.key) {
            one = Resolved { key: "data", value: vec![data.to_owned()], from: "--data".to_owned() };
        }
        resolved.push(one);
    }
    Ok(resolved)
}

fn one(setting: &Setting, matches: &ArgMatches, file: Option<&File>) -> Resolved {
    use clap::parser::ValueSource;
    let texts = matches.get_raw(setting.arg).into_iter().flatten();
    let shown = |text: &str| match setting.kind {
        Kind::Secret => crate::stores::hide(text),
        Kind::Text
        | Kind::Address
        | Kind::Number(..)
        | Kind::Flag
        | Kind::Choice(_)
        | Kind::List => text.to_owned(),
    };
    let value: Vec<String> = texts.map(|text| shown(&text.to_string_lossy())).collect();
    let from = match (matches.value_source(setting.arg), file) {
        (Some(ValueSource::EnvVariable), _) => setting.env.to_owned(),
        (Some(ValueSource::DefaultValue) | None, Some(file)) => match file.entry(setting.key) {
            Some(entry) => format!("{}:{}", file.path.display(), entry.line),
            None => "default".to_owned(),
        },
        (Some(_) | None, _) => "default".to_owned(),
    };
    Resolved { key: setting.key, value, from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_a_flag_of_its_commands() {
        let line = Line::command();
        for setting in SETTINGS {
            for name in setting.commands {
                let command = line.find_subcommand(name).unwrap();
                let found = command.get_arguments().any(|arg| arg.get_id() == setting.arg);
                assert!(found, "{} is no flag of {name}", setting.arg);
            }
        }
    }

    #[test]
    fn the_example_can_be_read_and_changes_nothing() {
        let text = settings::example();
        let uncommented: String = text
            .lines()
            .map(|line| line.strip_prefix("#= ").unwrap_or(line))
            .map(|line| format!("{line}\n"))
            .collect();
        let file = File::parse(std::path::Path::new("x.toml"), &uncommented, None).unwrap();
        let [with, without] = [Some(&file), None].map(|file| resolve(None, file).unwrap());
        for (with, without) in with.iter().zip(&without) {
            assert_eq!(with.value, without.value, "{}", with.key);
        }
    }
}
