//! Words that must not reach the main line, each with what to write instead.

use super::Finding;
use super::tree::{File, Tree};

/// In code.
#[rustfmt::skip]
const IN_CODE: &[(&str, &str)] = &[
    ("todo!(",          "finish it, or leave the feature out until it exists"),
    ("unimplemented!(", "finish it, or return a refusal that says what is possible"),
    ("dbg!(",           "remove it; a test that prints its table shows more"),
    ("#[ignore",        "make the test quick or move it to a soak; a test that never runs is not one"),
    ("#[allow(",        "write #[expect(lint, reason = \"\u{2026}\")], which complains when it is no longer needed"),
    ("#![allow(",       "write #[expect(lint, reason = \"\u{2026}\")] at the one place that needs it"),
];

/// In code and comments.
#[rustfmt::skip]
const IN_COMMENTS: &[(&str, &str)] = &[
    ("FIXME", "repair it now, or describe the limit for its users in the documentation"),
    ("XXX",   "say in a sentence what the reader must know"),
];

/// Where a build machine keeps things. Written in halves so that this file does not name them.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/fa", "rm/")];

/// Looks at code, comments and, for machine paths, at every text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        findings.extend(code(file));
        findings.extend(comments(file));
        findings.extend(expectations(file));
    }
    findings.extend(tree.files.iter().flat_map(machine_paths));
    findings
}

fn code(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (word, instead) in IN_CODE {
        for (offset, _) in file.masks.code.match_indices(word) {
            if !word.starts_with('#') && follows_name(&file.masks.code, offset) {
                continue;
            }
            let advice = format!("`{word}` is banned; {instead}");
            findings.push(file.finding(file.line_of(offset), "banned-word", advice));
        }
    }
    findings
}

fn comments(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in [&file.masks.comments, &file.masks.code] {
        for (word, instead) in IN_COMMENTS {
            for (offset, _) in text.match_indices(word) {
                let after = text[offset + word.len()..].chars().next();
                if follows_name(text, offset) || after.is_some_and(is_name_char) {
                    continue;
                }
                let advice = format!("`{word}` is banned; {instead}");
                findings.push(file.finding(file.line_of(offset), "banned-word", advice));
            }
        }
    }
    findings
}

fn expectations(file: &File) -> Vec<Finding> {
    let code = &file.masks.code;
    let mut findings = Vec::new();
    for start in ["#[expect(", "#![expect("] {
        for (offset, _) in code.match_indices(start) {
            let end = code[offset..].find(")]").map_or(code.len(), |end| offset + end);
            if !code[offset..end].contains("reason") {
                let advice = "add reason = \"\u{2026}\" to the expectation".to_owned();
                findings.push(file.finding(file.line_of(offset), "reason-missing", advice));
            }
        }
    }
    findings
}

fn machine_paths(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in MACHINE_PATHS {
        for (offset, _) in file.text.match_indices(path) {
            // A route or a relative path is no place on a machine: something stands before it.
            let before = file.text[..offset].chars().next_back();
            if before.is_some_and(|c| is_name_char(c) || matches!(c, '.' | '}' | '-' | '~' | '*')) {
                continue;
            }
            let advice =
                format!("`{path}` exists on one machine only; take the place as a setting");
            findings.push(file.finding(file.line_of(offset), "machine-path", advice));
        }
    }
    findings
}

fn follows_name(text: &str, offset: usize) -> bool {
    text[..offset].chars().next_back().is_some_and(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    /// The rules that fire for a source.
    fn rules(text: &str) -> Vec<String> {
        let report = report(check, &[("a.rs", text)]);
        report.lines().map(|line| line.split(": ").nth(1).unwrap().to_owned()).collect()
    }

    #[test]
    fn every_banned_word_fires() {
        for text in [
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"later\") }",
            "fn f() { dbg!(1); }",
            "#[ignore]\nfn f() {}",
            "#[ignore = \"slow\"]\nfn f() {}",
            "#[allow(dead_code)]\nfn f() {}",
            "#![allow(dead_code)]",
            "// FIXME: later",
            "/* XXX */",
        ] {
            assert_eq!(rules(text), ["banned-word"], "{text}");
        }
    }

    #[test]
    fn finding_names_the_place_and_the_replacement() {
        assert_eq!(
            report(check, &[("a.rs", "fn f() {\n    dbg!(1);\n}\n")]),
            "a.rs:2: banned-word: `dbg!(` is banned; \
             remove it; a test that prints its table shows more"
        );
    }

    #[test]
    fn words_in_texts_and_within_names_pass() {
        for text in [
            "const A: &str = \"todo!( #[allow( FIXME\";",
            "// never write todo!( here",
            "fn f() { mytodo!(1) }",
            "// XXXL is a size",
        ] {
            assert_eq!(rules(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn expectation_needs_a_reason() {
        assert_eq!(rules("#[expect(dead_code)]\nfn f() {}"), ["reason-missing"]);
        let reasoned = "#[expect(\n    dead_code,\n    reason = \"shown\"\n)]\nfn f() {}";
        assert_eq!(rules(reasoned), Vec::<String>::new());
    }

    #[test]
    fn machine_paths_are_found_everywhere() {
        let text = ["see /wo", "rk/x, \"/ro", "ot/.cargo\", (/fa", "rm/x)\n"].concat();
        let found = report(check, &[("a.md", &text)]);
        assert_eq!(found.matches("a.md:1: machine-path: ").count(), 3, "{found}");
    }

    #[test]
    fn routes_and_relative_paths_are_no_machine_paths() {
        let text = ["src/wo", "rk/a.rs and /v1/wo", "rk/claim\n"].concat();
        assert_eq!(report(check, &[("a.md", &text)]), "");
    }
}
