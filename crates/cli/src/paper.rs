//! What people see: data on stdout, as tables that fit the terminal, or as JSON.

use std::io::{self, Write as _};

use serde::Serialize;

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

/// A table: the first row is the head.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: Vec<[String; N]>) -> String {
    let head = head.map(str::to_uppercase);
    let rows: Vec<[String; N]> =
        std::iter::once(head).chain(rows).map(|row| row.map(|cell| clean(&cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    fit(&mut widths, columns());
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| padded(cell, width));
        let line = cells.collect::<Vec<_>>().join("  ");
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
    if cell.chars().count() <= width {
        return format!("{cell:width$}");
    }
    let kept: String = cell.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(COLUMNS_DEFAULT)
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
    }
}
