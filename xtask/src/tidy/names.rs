//! Names that say nothing: a file called `utils` is a drawer, not an idea.

use super::Finding;
use super::tree::{File, Tree};

const EMPTY: &[&str] =
    &["utils", "util", "helpers", "helper", "common", "manager", "handler", "handlers", "misc"];

/// Looks at the names of files, folders and modules.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|file| path(file).into_iter().chain(modules(file))).collect()
}

fn path(file: &File) -> Option<Finding> {
    let mut names = file.folder().split('/').chain([file.stem()]);
    let name = names.find(|name| is_empty(name))?;
    Some(file.finding(1, "empty-name", advice(name)))
}

fn modules(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in file.masks.code.lines().enumerate() {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let named = words.by_ref().any(|word| word == "mod");
        if let Some(name) = words.next().filter(|name| named && is_empty(name)) {
            findings.push(file.finding(index + 1, "empty-name", advice(name)));
        }
    }
    findings
}

fn is_empty(name: &str) -> bool {
    EMPTY.contains(&name)
}

fn advice(name: &str) -> String {
    format!("`{name}` names nothing; call it after what is in it, with a noun people can say")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    #[test]
    fn empty_names_of_files_folders_and_modules_are_found() {
        for path in ["crates/x/src/utils.rs", "crates/x/src/common/a.rs", "x/manager.rs"] {
            assert!(report(check, &[(path, "")]).contains("empty-name"), "{path}");
        }
        assert_eq!(
            report(check, &[("crates/x/src/lib.rs", "mod lease;\npub(crate) mod helpers {}\n")]),
            "crates/x/src/lib.rs:2: empty-name: `helpers` names nothing; \
             call it after what is in it, with a noun people can say"
        );
    }

    #[test]
    fn nouns_pass() {
        let text = "mod commons;\n// mod utils\nmod lease;\n";
        assert_eq!(report(check, &[("crates/x/src/ledger.rs", text)]), "");
    }
}
