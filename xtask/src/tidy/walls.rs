//! The walls between the crates: arrows point one way, and the compiler cannot see all of them.

use super::Finding;
use super::manifest::{self, Manifest};
use super::tree::Tree;

/// For each crate, the crates of the workspace it may build on. Its tests may name any, except
/// those of core, whose loop from edit to test must stay short.
#[rustfmt::skip]
const WALLS: &[(&str, &[&str])] = &[
    ("crates/core",    &[]),
    ("crates/engine",  &["crates/core"]),
    ("crates/wire",    &["crates/core"]),
    ("crates/store",   &["crates/core", "crates/engine"]),
    ("crates/server",  &["crates/core", "crates/engine", "crates/wire"]),
    ("crates/bridges", &["crates/core", "crates/engine", "crates/wire"]),
    ("crates/cli",     &["crates/core", "crates/engine", "crates/wire", "crates/store", "crates/server", "crates/bridges"]),
    ("crates/sim",     &["crates/core", "crates/engine", "crates/wire", "crates/store", "crates/server", "crates/bridges"]),
    ("xtask",          &["crates/core"]),
];

/// All that core takes from outside.
const CORE_OUTSIDE: &[&str] = &["foldhash", "serde_json", "sha2"];

/// Crates that are synchronous from end to end.
const SYNCHRONOUS: &[&str] = &["crates/core", "crates/engine", "crates/wire", "crates/store"];

/// Looks at every manifest of the workspace.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let manifests: Vec<Manifest<'_>> = files.filter_map(manifest::parse).collect();
    let mut findings = Vec::new();
    for manifest in &manifests {
        findings.extend(lints(manifest));
        match WALLS.iter().find(|(folder, _)| *folder == manifest.folder()) {
            Some((_, allowed)) => findings.extend(arrows(manifest, allowed, &manifests)),
            None => findings.push(unknown(manifest)),
        }
        findings.extend(outside(manifest));
    }
    findings
}

fn lints(manifest: &Manifest<'_>) -> Option<Finding> {
    let advice = "add `[lints] workspace = true`, so that the same lints hold everywhere";
    let finding = || manifest.file.finding(1, "lints-missing", advice.to_owned());
    (!manifest.has_lints).then(finding)
}

fn unknown(manifest: &Manifest<'_>) -> Finding {
    let advice = "no wall is known for this crate; \
                  add it to WALLS in xtask/src/tidy/walls.rs and to ARCHITECTURE.md";
    manifest.file.finding(1, "wall", advice.to_owned())
}

fn arrows(manifest: &Manifest<'_>, allowed: &[&str], workspace: &[Manifest<'_>]) -> Vec<Finding> {
    let from = manifest.folder();
    let mut findings = Vec::new();
    for dependency in &manifest.dependencies {
        let ours = workspace.iter().find(|other| other.package == dependency.package);
        let Some(to) = ours.map(Manifest::folder) else {
            continue;
        };
        let is_test_of_others = dependency.is_dev && from != "crates/core";
        if is_test_of_others || allowed.contains(&to) {
            continue;
        }
        let may = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        let advice = format!(
            "{from} may not depend on {to}, of the workspace only on: {may}; \
             move the code, or pass what is needed through a seam of {from}"
        );
        findings.push(manifest.file.finding(dependency.line, "wall", advice));
    }
    findings
}

fn outside(manifest: &Manifest<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = manifest.folder();
    for dependency in manifest.dependencies.iter().filter(|dependency| !dependency.is_dev) {
        let name = dependency.package.as_str();
        let is_ours = WALLS.iter().any(|(wall, _)| {
            wall.strip_prefix("crates/").is_some_and(|crate_name| name.ends_with(crate_name))
        });
        if folder == "crates/core" && !is_ours && !CORE_OUTSIDE.contains(&name) {
            let only = CORE_OUTSIDE.join(", ");
            let advice =
                format!("core takes only {only} from outside, not {name}; do it above core");
            findings.push(manifest.file.finding(dependency.line, "core-outside", advice));
        }
        if SYNCHRONOUS.contains(&folder) && name == "tokio" {
            let advice = format!("{folder} is synchronous; async lives in the server and above");
            findings.push(manifest.file.finding(dependency.line, "async-below", advice));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    /// A workspace in which every crate of the walls exists; one of them has these dependencies.
    fn check_with(folder: &str, dependencies: &str) -> String {
        let mut files: Vec<(String, String)> = WALLS
            .iter()
            .map(|(wall, _)| {
                let name = wall.rsplit('/').next().unwrap();
                let text =
                    format!("[package]\nname = \"armarius-{name}\"\n[lints]\nworkspace = true\n");
                (format!("{wall}/Cargo.toml"), text)
            })
            .collect();
        let file = files.iter_mut().find(|(path, _)| *path == format!("{folder}/Cargo.toml"));
        file.unwrap().1.push_str(dependencies);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        report(check, &files)
    }

    #[test]
    fn arrow_through_a_wall_is_found() {
        assert_eq!(
            check_with("crates/engine", "[dependencies]\narmarius-store.workspace = true\n"),
            "crates/engine/Cargo.toml:6: wall: crates/engine may not depend on crates/store, \
             of the workspace only on: crates/core; \
             move the code, or pass what is needed through a seam of crates/engine"
        );
    }

    #[test]
    fn every_arrow_not_in_the_table_is_found() {
        for (from, allowed) in WALLS {
            for (to, _) in WALLS {
                let name = to.rsplit('/').next().unwrap();
                let text = format!("[dependencies]\narmarius-{name}.workspace = true\n");
                let found = check_with(from, &text);
                assert_eq!(found.is_empty(), allowed.contains(to), "{from} -> {to}: {found}");
            }
        }
    }

    #[test]
    fn only_cli_and_sim_build_on_a_store() {
        let users = WALLS.iter().filter(|(_, allowed)| allowed.contains(&"crates/store"));
        let users: Vec<&str> = users.map(|(folder, _)| *folder).collect();
        assert_eq!(users, ["crates/cli", "crates/sim"]);
    }

    #[test]
    fn tests_may_name_a_store_but_not_those_of_core() {
        let text = "[dev-dependencies]\narmarius-store.workspace = true\n";
        assert_eq!(check_with("crates/server", text), "");
        assert!(check_with("crates/core", text).contains(":6: wall: "));
    }

    #[test]
    fn core_takes_few_crates_from_outside() {
        let text = "[dependencies]\nserde_json = \"1\"\nsha2 = \"1\"\nrand = \"1\"\n";
        assert_eq!(
            check_with("crates/core", text),
            "crates/core/Cargo.toml:8: core-outside: \
             core takes only foldhash, serde_json, sha2 from outside, not rand; do it above core"
        );
        assert_eq!(check_with("crates/core", "[dev-dependencies]\ninsta = \"1\"\n"), "");
    }

    #[test]
    fn tokio_stays_above_the_engine() {
        let text = "[dependencies]\ntokio.workspace = true\n";
        assert_eq!(
            check_with("crates/store", text),
            "crates/store/Cargo.toml:6: async-below: \
             crates/store is synchronous; async lives in the server and above"
        );
        assert_eq!(check_with("crates/server", text), "");
    }

    #[test]
    fn unknown_crates_and_missing_lints_are_found() {
        let found = report(check, &[("crates/new/Cargo.toml", "[package]\nname = \"new\"\n")]);
        assert!(found.contains("lints-missing") && found.contains("no wall is known"), "{found}");
    }
}
