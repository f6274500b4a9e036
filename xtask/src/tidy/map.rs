//! The code map is whole: a folder that `ARCHITECTURE.md` does not name is a folder nobody finds.

use super::Finding;
use super::tree::{Tree, has_ending};

const MAP: &str = "ARCHITECTURE.md";

/// Looks at every folder with Rust sources or pages of documentation.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let text = tree.file(MAP).map_or("", |file| file.text.as_str());
    let mut seen: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for file in &tree.files {
        let folder = known_as(file.folder());
        let counts = file.is_rust() || has_ending(&file.path, "md");
        if !counts || folder.is_empty() || seen.contains(&folder) {
            continue;
        }
        seen.push(folder);
        let is_named =
            text.contains(&format!("`{folder}`")) || text.contains(&format!("`{folder}/`"));
        if !is_named {
            let advice = format!("{MAP} does not name `{folder}`; add it with one line on its use");
            findings.push(file.finding(1, "not-on-the-map", advice));
        }
    }
    findings
}

/// The folder under which people look for it: `src` and `tests` belong to their crate.
fn known_as(folder: &str) -> &str {
    let folder = folder.strip_suffix("/src").unwrap_or(folder);
    folder.split_once("/tests").map_or(folder, |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    #[test]
    fn folder_missing_on_the_map_is_found_once() {
        let files = [
            ("ARCHITECTURE.md", "`crates/x` and `docs/`\n"),
            ("crates/x/src/decide/claim.rs", ""),
            ("crates/x/src/decide/report.rs", ""),
            ("crates/x/src/lib.rs", ""),
            ("crates/x/tests/it/main.rs", ""),
            ("docs/guide.md", ""),
        ];
        assert_eq!(
            report(check, &files),
            "crates/x/src/decide/claim.rs:1: not-on-the-map: ARCHITECTURE.md does not name \
             `crates/x/src/decide`; add it with one line on its use"
        );
    }

    #[test]
    fn parent_on_the_map_is_not_enough() {
        let files = [("ARCHITECTURE.md", "`docs`\n"), ("docs/decisions/0001.md", "")];
        assert!(report(check, &files).contains("`docs/decisions`"));
    }
}
