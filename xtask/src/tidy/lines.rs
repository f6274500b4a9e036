//! Lines: width, tabs, blanks at the end.

use super::Finding;
use super::tree::{File, Tree, has_ending};

const WIDTH_MAX: usize = 100;

/// Looks at every line of every file; the width counts for Rust and SQL.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().flat_map(|file| width(file).into_iter().chain(blanks(file))).collect()
}

fn width(file: &File) -> Vec<Finding> {
    if !file.is_rust() && !has_ending(&file.path, "sql") {
        return Vec::new();
    }
    let tables = tables(file);
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let width = line.chars().count();
        let is_link = line.contains("https://");
        if width > WIDTH_MAX && !is_link && !tables.contains(&index) {
            let advice = format!(
                "{width} columns, at most {WIDTH_MAX}; break the line \
                 (a table may stay wide under #[rustfmt::skip])"
            );
            findings.push(file.finding(index + 1, "line-width", advice));
        }
    }
    findings
}

/// The lines, counted from 0, of the items under `#[rustfmt::skip]`.
fn tables(file: &File) -> Vec<usize> {
    let lines: Vec<&str> = file.masks.code.lines().collect();
    let mut inside = Vec::new();
    for (start, _) in lines.iter().enumerate().filter(|(_, line)| line.contains("rustfmt::skip")) {
        let mut depth = 0_i32;
        for (index, line) in lines.iter().enumerate().skip(start + 1) {
            inside.push(index);
            for byte in line.bytes() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
            }
            if depth <= 0 && line.trim_end().ends_with([';', '}', ',']) {
                break;
            }
        }
    }
    inside
}

fn blanks(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if line.contains('\t') {
            let advice = "write spaces; in a text write \\t".to_owned();
            findings.push(file.finding(index + 1, "tab", advice));
        }
        if line.ends_with([' ', '\t', '\r']) {
            let advice = "remove the blanks at the end of the line".to_owned();
            findings.push(file.finding(index + 1, "trailing-blanks", advice));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let advice = "end the file with a line end".to_owned();
        findings.push(file.finding(file.text.lines().count(), "last-line", advice));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    #[test]
    fn wide_line_is_found_by_characters_not_bytes() {
        let fits = format!("// {}\n", "\u{2192}".repeat(97));
        let wide = format!("// {}\n", "\u{2192}".repeat(98));
        assert_eq!(report(check, &[("a.rs", &fits)]), "");
        assert_eq!(
            report(check, &[("a.rs", &wide)]),
            "a.rs:1: line-width: 101 columns, at most 100; break the line \
             (a table may stay wide under #[rustfmt::skip])"
        );
    }

    #[test]
    fn table_under_rustfmt_skip_may_be_wide_and_ends_with_its_item() {
        let wide = format!("    (\"{}\", 1),\n", "x".repeat(100));
        let table = format!("#[rustfmt::skip]\npub const T: &[(&str, u8)] = &[\n{wide}];\n");
        assert_eq!(report(check, &[("a.rs", &table)]), "");
        let after = format!("{table}{wide}");
        assert!(report(check, &[("a.rs", &after)]).starts_with("a.rs:5: line-width"));
    }

    #[test]
    fn prose_and_links_may_be_wide() {
        let wide = "word ".repeat(40).trim_end().to_owned() + "\n";
        assert_eq!(report(check, &[("a.md", &wide)]), "");
        let link = format!("// https://example.org/{}\n", "x".repeat(100));
        assert_eq!(report(check, &[("a.rs", &link)]), "");
    }

    #[test]
    fn tabs_blanks_and_a_missing_line_end_are_found() {
        assert_eq!(
            report(check, &[("a.md", "one\n\ttwo\nthree \nfour")]),
            "a.md:2: tab: write spaces; in a text write \\t\n\
             a.md:3: trailing-blanks: remove the blanks at the end of the line\n\
             a.md:4: last-line: end the file with a line end"
        );
    }
}
