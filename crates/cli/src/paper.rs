//! What people see: data on stdout, as tables that fit the terminal, or as JSON.

use std::io::{self, IsTerminal as _, Write as _};

use armarius_wire::v1::time;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns assumed where there is no terminal.
const COLUMNS_DEFAULT: usize = 120;
/// The narrowest a column is cut to.
const COLUMN_MIN: usize = 8;

/// Writes data to stdout: as JSON when asked for, else as text for people.
pub(crate) fn show<T: Serialize>(
    json: bool,
    data: &T,
    text: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    if json { line(&serde_json::to_string_pretty(data)?) } else { line(text(data).trim_end()) }
}

/// Writes a line to stdout.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if !text.is_empty() {
        writeln!(out, "{text}")?;
    }
    Ok(out.flush()?)
}

/// Colours, where there is a terminal and nobody said NO_COLOR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ink {
    on: bool,
}

impl Ink {
    pub(crate) fn of_stdout() -> Self {
        Self { on: io::stdout().is_terminal() && is_wanted() }
    }

    pub(crate) fn of_stderr() -> Self {
        Self { on: io::stderr().is_terminal() && is_wanted() }
    }

    /// Something went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Something is fine.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Something less important.
    pub(crate) fn soft(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Something to be seen first.
    pub(crate) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A word that says how something stands, in its colour.
    pub(crate) fn state(self, text: &str) -> String {
        match text.trim() {
            "failed" | "corrupt" => self.bad(text),
            "done" | "completed" | "running" => self.good(text),
            "leased" | "processing" | "reporting" => self.paint("36", text),
            "held" | "stopping" => self.paint("33", text),
            "cancelled" | "waiting" | "deleted" => self.soft(text),
            _ => text.to_owned(),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn is_wanted() -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// A table: the first row is the head.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    table_in(Ink::of_stdout(), columns(), head, rows)
}

/// A table in so many columns, with what stands in the column `state` in its colour.
pub(crate) fn table_in<const N: usize>(
    ink: Ink,
    columns: usize,
    head: [&str; N],
    rows: Vec<[String; N]>,
) -> String {
    let states = head.iter().position(|name| *name == "state");
    let head = head.map(str::to_uppercase);
    let rows: Vec<[String; N]> =
        std::iter::once(head).chain(rows).map(|row| row.map(|cell| clean(&cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    fit(&mut widths, columns);
    let mut text = String::new();
    for (n, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (place, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Nothing stands behind the last column, so that it needs no filling.
            let width = if place + 1 == N { width.min(cell.width()) } else { width };
            let cell = padded(cell, width);
            line.push_str(&match n {
                0 => ink.soft(&cell),
                _ if Some(place) == states => ink.state(&cell),
                _ => cell,
            });
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Pairs of a name and a value, one per line.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, value): &(&str, String)| format!("{name:width$}  {}\n", clean(value));
    pairs.iter().filter(|(_, value)| !value.is_empty()).map(line).collect()
}

/// A moment to the second, for tables; the exact one is in the JSON.
pub(crate) fn when(moment: &str) -> String {
    match moment.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => moment.to_owned(),
    }
}

/// Text from elsewhere must not steer the terminal.
pub(crate) fn clean(text: &str) -> String {
    let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_bad) {
        return text.to_owned();
    }
    let shown = |c: char| if is_bad(c) { c.escape_debug().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Narrows the widest columns until all fit.
fn fit(widths: &mut [usize], columns: usize) {
    let gaps = widths.len().saturating_sub(1) * 2;
    while widths.iter().sum::<usize>() + gaps > columns {
        match widths.iter_mut().max() {
            Some(widest) if *widest > COLUMN_MIN => *widest -= 1,
            Some(_) | None => return,
        }
    }
}

fn padded(cell: &str, width: usize) -> String {
    let cell = cell.replace(['\n', '\t'], " ");
    if cell.width() <= width {
        return format!("{cell}{}", " ".repeat(width - cell.width()));
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in cell.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    let filling = width.saturating_sub(kept.width() + 1);
    format!("{kept}…{}", " ".repeat(filling))
}

/// How wide the terminal is.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(COLUMNS_DEFAULT)
}

/// How long it was from one moment to another; empty when either is not there.
pub(crate) fn between(from: &str, to: &str) -> String {
    match (time::parse(from), time::parse(to)) {
        (Some(from), Some(to)) => long(u64::try_from((to.0 - from.0) / 1_000).unwrap_or_default()),
        (Some(_) | None, Some(_) | None) => String::new(),
    }
}

/// A length of time in milliseconds, as people say it.
pub(crate) fn long(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{ms} ms"),
        _ => crate::progress::span(std::time::Duration::from_millis(ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_way() {
        let mut widths = [3, 100, 20];
        fit(&mut widths, 60);
        assert_eq!(widths, [3, 33, 20]);
    }

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(padded("abcdef", 4), "abc…");
        assert_eq!(padded("漢字漢字", 6), "漢字… ");
    }

    #[test]
    fn colours_take_no_room() {
        let rows = || vec![["1".to_owned(), "failed".to_owned(), "x".to_owned()]];
        let head = ["n", "state", "why"];
        let plain = table_in(Ink { on: false }, 80, head, rows());
        assert_eq!(plain, "N  STATE   WHY\n1  failed  x\n");
        let inked = table_in(Ink { on: true }, 80, head, rows());
        assert!(inked.contains("\u{1b}[1;31mfailed\u{1b}[0m  x"), "{inked:?}");
    }
}
