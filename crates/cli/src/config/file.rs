//! The configuration file: TOML, read with places, so that a mistake is named by line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use armarius_core::flow::check::did_you_mean;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::settings::{Kind, SETTINGS, Setting};
use crate::exit::Failure;

/// Largest file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a file says.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    entries: BTreeMap<&'static str, Entry>,
}

/// What it says about one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As it would be typed; several for a list.
    pub(crate) values: Vec<String>,
    /// Where, from 1.
    pub(crate) line: usize,
}

/// Something wrong, and where.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    at: usize,
    what: String,
    hint: String,
}

impl File {
    /// Reads a file. The one in a data folder cannot say which the data folder is.
    pub(crate) fn read(path: &Path, data: Option<&PathBuf>) -> anyhow::Result<Self> {
        let shown = || format!("cannot read the configuration file {}", path.display());
        let bytes = std::fs::metadata(path).with_context(shown)?.len();
        if bytes > FILE_BYTES_MAX {
            let why = format!("{} has {bytes} bytes, more than {FILE_BYTES_MAX}", path.display());
            return Err(Failure::config(why, "is it the right file?").into());
        }
        let text = std::fs::read_to_string(path).with_context(shown)?;
        Self::parse(path, &text, data)
    }

    /// Reads a text; all mistakes are told at once, on stderr.
    pub(crate) fn parse(path: &Path, text: &str, data: Option<&PathBuf>) -> anyhow::Result<Self> {
        match read(text, data.is_some()) {
            Ok(entries) => Ok(Self { path: path.to_owned(), entries }),
            Err(findings) => {
                let shown = path.display();
                for Finding { at, what, hint } in &findings {
                    let (line, column) = place(text, *at);
                    eprintln!("{shown}:{line}:{column}: {what}");
                    eprintln!("  hint: {hint}");
                }
                let why = format!("{} cannot be used as configuration", path.display());
                Err(Failure::config(why, "correct the lines above; nothing was started").into())
            }
        }
    }

    /// What the file says about a setting.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }
}

fn read(text: &str, in_data: bool) -> Result<BTreeMap<&'static str, Entry>, Vec<Finding>> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let hint = "this is no TOML; see docs/guide/configuration.md".to_owned();
        vec![Finding { at, what: error.message().to_owned(), hint }]
    })?;
    let mut reading = Reading { text, in_data, entries: BTreeMap::new(), findings: Vec::new() };
    reading.table("", table.get_ref());
    if reading.findings.is_empty() { Ok(reading.entries) } else { Err(reading.findings) }
}

struct Reading<'t> {
    text: &'t str,
    in_data: bool,
    entries: BTreeMap<&'static str, Entry>,
    findings: Vec<Finding>,
}

impl Reading<'_> {
    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = match section {
                "" => name.get_ref().to_string(),
                _ => format!("{section}.{}", name.get_ref()),
            };
            let at = name.span().start;
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) {
                self.setting(setting, at, value);
            } else if !is_section(&key) {
                let names = SETTINGS.iter().flat_map(|s| [s.key, section_of(s.key)]);
                let otherwise = "`armarius config example` shows all settings";
                let hint = did_you_mean(&key, names, otherwise);
                self.findings.push(Finding { at, what: format!("unknown key `{key}`"), hint });
            } else if let DeValue::Table(inner) = value.get_ref() {
                self.table(&key, inner);
            } else {
                let (what, hint) = (format!("`{key}` is a section"), format!("write [{key}]"));
                self.findings.push(Finding { at, what, hint });
            }
        }
    }

    fn setting(&mut self, setting: &Setting, at: usize, value: &Spanned<DeValue<'_>>) {
        if setting.key == "data" && self.in_data {
            let what = "the file in the data folder cannot say which the data folder is".to_owned();
            let hint = "remove the line, or name the file with --config".to_owned();
            return self.findings.push(Finding { at, what, hint });
        }
        match values(setting.kind, value.get_ref()) {
            Ok(values) => {
                let line = place(self.text, at).0;
                let key = setting.key;
                self.entries.insert(key, Entry { values, line });
            }
            Err(hint) => {
                let what = format!("`{}` is not {}", setting.key, setting.kind.name());
                self.findings.push(Finding { at: value.span().start, what, hint });
            }
        }
    }
}

/// A value as it would be typed, or what to write instead.
fn values(kind: Kind, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err("write it in quotation marks".to_owned()),
    };
    match (kind, value) {
        (Kind::Text | Kind::Secret, value) => Ok(vec![text(value)?]),
        (Kind::Address | Kind::Choice(_), value) => {
            let text = text(value)?;
            kind.check(&text)?;
            Ok(vec![text])
        }
        (Kind::Number(..), DeValue::Integer(n)) => {
            kind.check(n.as_str())?;
            Ok(vec![n.as_str().to_owned()])
        }
        (Kind::Number(..), _) => Err("write a whole number, without quotation marks".to_owned()),
        (Kind::Flag, DeValue::Boolean(on)) => Ok(vec![on.to_string()]),
        (Kind::Flag, _) => Err("write true or false, without quotation marks".to_owned()),
        (Kind::List, DeValue::Array(all)) => all.iter().map(|one| text(one.get_ref())).collect(),
        (Kind::List, _) => Err("write [\"a\", \"b\"]".to_owned()),
    }
}

fn is_section(key: &str) -> bool {
    SETTINGS.iter().any(|setting| section_of(setting.key) == key)
}

fn section_of(key: &str) -> &str {
    key.split_once('.').map_or("", |(section, _)| section)
}

/// Line and column of a byte, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tell = |f: &Finding| {
            let (line, column) = place(text, f.at);
            format!("{line}:{column} {}; {}", f.what, f.hint)
        };
        read(text, true).unwrap_err().iter().map(tell).collect()
    }

    #[test]
    fn mistakes_are_named_by_line_with_what_was_meant() {
        for (text, wanted) in [
            (
                "[server]\nlisen = 1",
                "2:1 unknown key `server.lisen`; did you mean `server.listen`?",
            ),
            ("[servr]\nx = 1", "1:2 unknown key `servr`; did you mean `server`?"),
            ("server = 1", "1:1 `server` is a section; write [server]"),
            (
                "[server]\n\nlisten = 7700",
                "3:10 `server.listen` is not an address; write it in quotation marks",
            ),
            (
                "[worker]\nslots = 0",
                "2:9 `worker.slots` is not a number; write a number from 1 to 1000",
            ),
            (
                "[worker]\nisolation = \"strikt\"",
                "2:13 `worker.isolation` is not one of its choices; write one of: basic, strict",
            ),
            (
                "data = \"x\"",
                "1:1 the file in the data folder cannot say which the data folder is; \
                 remove the line, or name the file with --config",
            ),
        ] {
            assert_eq!(findings(text), [wanted], "{text}");
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let text = "[server]\nlisten = true\nlabels = 1\n[worker]\nlabels = \"a\"\n";
        assert_eq!(findings(text).len(), 3);
    }

    #[test]
    fn values_are_kept_as_they_would_be_typed() {
        let text =
            "[server]\nbehind_proxy = true\n[worker]\nlabels = [\"a\", \"b c\"]\nslots = 8\n";
        let entries = read(text, true).unwrap();
        let of = |key: &str| (entries[key].values.join("|"), entries[key].line);
        assert_eq!(of("server.behind_proxy"), ("true".to_owned(), 2));
        assert_eq!(of("worker.labels"), ("a|b c".to_owned(), 4));
        assert_eq!(of("worker.slots"), ("8".to_owned(), 5));
    }
}
