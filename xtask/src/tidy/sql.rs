//! SQL is written, not assembled: a statement built with `format!` hides what is asked of the
//! database and is the door of injection.

use super::Finding;
use super::tree::{File, Tree};

/// How a statement begins, and what else must be in the text to tell it from a sentence.
const STATEMENTS: &[(&str, &str)] =
    &[("select ", ""), ("insert ", "into "), ("update ", " set "), ("delete ", "from ")];

/// Looks at the first text of every `format!`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(statements).collect()
}

fn statements(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (offset, start) in file.masks.code.match_indices("format!(") {
        let text = first_text(file, offset + start.len()).to_lowercase();
        // Line breaks and indents within a statement count as blanks.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ") + " ";
        if STATEMENTS.iter().any(|(verb, rest)| text.starts_with(verb) && text.contains(rest)) {
            let advice = "write the statement as a constant next to its function and bind \
                          its values; choose between whole statements where the shape differs"
                .to_owned();
            findings.push(file.finding(file.line_of(offset), "sql-by-format", advice));
        }
    }
    findings
}

/// The inside of the literal that opens an argument list.
fn first_text(file: &File, from: usize) -> &str {
    let code = &file.masks.code;
    let Some(open) = code[from..].find('"').map(|at| from + at) else {
        return "";
    };
    let is_first = code[from..open].trim().trim_matches('#').trim_start_matches('r').is_empty();
    let close = code[open + 1..].find('"').map_or(code.len(), |at| open + 1 + at);
    if is_first { &file.text[open + 1..close] } else { "" }
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    fn fires(text: &str) -> bool {
        !report(check, &[("a.rs", text)]).is_empty()
    }

    #[test]
    fn statements_built_by_format_are_found() {
        assert_eq!(
            report(check, &[("a.rs", "fn f() {\n    format!(\"SELECT a from {t}\");\n}\n")]),
            "a.rs:2: sql-by-format: write the statement as a constant next to its function and \
             bind its values; choose between whole statements where the shape differs"
        );
        assert!(fires("format!(\"insert into t values ({v})\")"));
        assert!(fires("format!(\"Update {t} set a = 1\")"));
        assert!(fires("format!(\n    r#\"delete\n  from {t}\"#\n)"));
    }

    #[test]
    fn sentences_and_other_texts_pass() {
        assert!(!fires("format!(\"update the flow and try again: {name}\")"));
        assert!(!fires("format!(\"{name}: selected\")"));
        assert!(!fires("format!(FORM, \"select a from b\")"));
        assert!(!fires("const SQL: &str = \"select a from b\";"));
        assert!(!fires("// format!(\"select {a} from b\")\n"));
    }
}
