//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy knows.
//!
//! Each rule is one file: it reads the [`Tree`](tree::Tree) and returns findings. A finding says
//! where, which rule, what is wrong and what to do instead. `cargo test` runs the same rules.

mod lengths;
mod lines;
mod links;
mod manifest;
mod map;
mod mask;
mod modules;
mod names;
mod purity;
mod sql;
mod tree;
mod walls;
mod words;

use crate::repo;
use std::fmt;
use tree::Tree;

/// One breach of one rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    rule: &'static str,
    advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.rule, self.advice)
    }
}

const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    walls::check,
    purity::check,
    lengths::check,
    lines::check,
    names::check,
    words::check,
    sql::check,
    modules::check,
    map::check,
    links::check,
];

/// Prints every finding of the repository; none is a success.
pub(crate) fn run() -> anyhow::Result<()> {
    let tree = Tree::read(&repo::root())?;
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    anyhow::ensure!(findings.is_empty(), "tidy has {} finding(s)", findings.len());
    println!("{} files are tidy", tree.files.len());
    Ok(())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut all: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What one rule says about a small repository, one finding per line.
    pub(super) fn report(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> String {
        let mut findings = rule(&Tree::of(files));
        findings.sort();
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn this_repository_is_tidy() {
        let tree = Tree::read(&repo::root()).unwrap();
        let findings = findings(&tree);
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn finding_reads_as_place_rule_and_advice() {
        let finding = Finding {
            file: "a/b.rs".to_owned(),
            line: 7,
            rule: "tabs",
            advice: "write spaces".to_owned(),
        };
        assert_eq!(finding.to_string(), "a/b.rs:7: tabs: write spaces");
    }
}
