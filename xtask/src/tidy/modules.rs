//! Forgotten files: a module nobody declares is compiled by nobody, and its tests never run.

use super::Finding;
use super::tree::{File, Tree};

/// Looks at every Rust source below a `src` or `tests` folder.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        findings.extend(match place(file) {
            Place::Root | Place::Elsewhere => None,
            Place::LooseTest => Some(loose(file)),
            Place::Module { name, parents } => undeclared(tree, file, &name, &parents),
        });
    }
    findings.extend(missing_it(tree));
    findings
}

/// What a file is to cargo.
enum Place {
    /// Compiled on its own.
    Root,
    /// Directly in `tests/`: a test binary of its own.
    LooseTest,
    /// A module, declared in one of these files.
    Module { name: String, parents: Vec<String> },
    /// Benchmarks, examples, fuzz targets, build scripts.
    Elsewhere,
}

fn place(file: &File) -> Place {
    let folder = file.folder();
    let parts: Vec<&str> = folder.split('/').collect();
    let Some(at) = parts.iter().position(|part| matches!(*part, "src" | "tests")) else {
        return Place::Elsewhere;
    };
    let is_test = parts[at] == "tests";
    let below = parts.len() - at - 1;
    // The folder whose main.rs or lib.rs is the root of the crate.
    let top = if is_test { 1 } else { 0 };
    let stem = file.stem();
    if is_test && below == 0 {
        return Place::LooseTest;
    }
    let is_binary = !is_test && below > 0 && parts[at + 1] == "bin";
    if is_binary || (below == top && matches!(stem, "main" | "lib")) {
        return Place::Root;
    }
    let (name, folder, below) = if stem == "mod" {
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        (name, above, below - 1)
    } else {
        (stem, folder, below)
    };
    let parents = if below == top {
        vec![format!("{folder}/main.rs"), format!("{folder}/lib.rs")]
    } else {
        vec![format!("{folder}.rs"), format!("{folder}/mod.rs")]
    };
    Place::Module { name: name.to_owned(), parents }
}

fn loose(file: &File) -> Finding {
    let advice = "one test binary per crate: move the file into tests/it/ and declare it in \
                  tests/it/main.rs";
    file.finding(1, "loose-test", advice.to_owned())
}

fn undeclared(tree: &Tree, file: &File, name: &str, parents: &[String]) -> Option<Finding> {
    let parents: Vec<&File> = parents.iter().filter_map(|path| tree.file(path)).collect();
    let declaration = format!("mod {name};");
    let by_path = format!("{name}.rs\"]");
    let is_declared = parents.iter().any(|parent| {
        let mut lines = parent.masks.code.lines();
        let by_name = lines.any(|line| line.split_once(&declaration).is_some_and(ends_word));
        by_name || parent.text.contains(&by_path)
    });
    if is_declared {
        return None;
    }
    let parent = parents.first().map_or("a parent that does not exist", |file| &file.path);
    let advice =
        format!("nobody compiles this file; write `{declaration}` in {parent} or remove it");
    Some(file.finding(1, "forgotten-file", advice))
}

/// Whether `mod` before the split is a word of its own.
fn ends_word((before, _): (&str, &str)) -> bool {
    before.is_empty() || before.ends_with([' ', '{', ';', ']'])
}

/// Crates with tests that have no `tests/it/main.rs`.
fn missing_it(tree: &Tree) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some((package, _)) = file.path.split_once("/tests/") else {
            continue;
        };
        if package.contains("/src") || seen.contains(&package) {
            continue;
        }
        seen.push(package);
        if tree.file(&format!("{package}/tests/it/main.rs")).is_none() {
            let advice = format!("{package}/tests has no it/main.rs; put its tests there");
            findings.push(file.finding(1, "loose-test", advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    #[test]
    fn forgotten_test_is_found() {
        assert_eq!(
            report(
                check,
                &[
                    ("crates/x/tests/it/main.rs", "mod claims;\n// mod reports;\n"),
                    ("crates/x/tests/it/claims.rs", ""),
                    ("crates/x/tests/it/reports.rs", ""),
                ]
            ),
            "crates/x/tests/it/reports.rs:1: forgotten-file: nobody compiles this file; \
             write `mod reports;` in crates/x/tests/it/main.rs or remove it"
        );
    }

    #[test]
    fn forgotten_module_is_found_at_any_depth() {
        let files = [
            ("crates/x/src/lib.rs", "mod decide;\npub mod view;"),
            ("crates/x/src/decide.rs", "mod claim;\nmod commod report;"),
            ("crates/x/src/decide/claim.rs", ""),
            ("crates/x/src/decide/report.rs", ""),
            ("crates/x/src/view/mod.rs", "pub(crate) mod sheet;"),
            ("crates/x/src/view/sheet.rs", ""),
            ("crates/x/src/view/lost.rs", ""),
            ("crates/x/src/bin/tool.rs", ""),
        ];
        let found = report(check, &files);
        let places: Vec<&str> = found.lines().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(places, ["crates/x/src/decide/report.rs", "crates/x/src/view/lost.rs"]);
    }

    #[test]
    fn loose_tests_and_a_missing_root_are_found() {
        assert_eq!(
            report(check, &[("crates/x/tests/claims.rs", "")]),
            "crates/x/tests/claims.rs:1: loose-test: crates/x/tests has no it/main.rs; \
             put its tests there\n\
             crates/x/tests/claims.rs:1: loose-test: one test binary per crate: \
             move the file into tests/it/ and declare it in tests/it/main.rs"
        );
    }

    #[test]
    fn second_folder_of_tests_needs_its_own_root() {
        let files = [
            ("crates/x/tests/it/main.rs", ""),
            ("crates/x/tests/stories/lots.rs", ""),
            ("crates/x/examples/a.rs", ""),
        ];
        assert_eq!(
            report(check, &files),
            "crates/x/tests/stories/lots.rs:1: forgotten-file: nobody compiles this file; \
             write `mod lots;` in a parent that does not exist or remove it"
        );
    }
}
