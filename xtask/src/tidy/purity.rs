//! The rule-book is pure: what `decide` says follows from its arguments and from nothing else.

use super::Finding;
use super::tree::{File, Tree};

const PURE: &str = "crates/core/src/";

/// Names whose iteration order or value differs from run to run.
#[rustfmt::skip]
const NAMES: &[(&str, &str)] = &[
    ("HashMap",      "BTreeMap, whose order is part of the result"),
    ("HashSet",      "BTreeSet, whose order is part of the result"),
    ("SystemTime",   "the time that arrives inside the call"),
    ("Instant::now", "the time that arrives inside the call"),
];

/// The one file that may scatter rows: it sorts whenever it is walked over.
const SCATTERED: (&str, &str) = ("crates/core/src/view/cells.rs", "HashMap");

/// Modules of std that reach into the world.
#[rustfmt::skip]
const MODULES: &[(&str, &str)] = &[
    ("time",    "the time types of core, and the time that arrives inside the call"),
    ("env",     "a field of the command or a named limit"),
    ("fs",      "facts that arrive inside the command"),
    ("net",     "facts that arrive inside the command"),
    ("process", "facts that arrive inside the command"),
    ("thread",  "plain calls; the engine owns the threads"),
];

/// Looks at the sources of core.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|file| file.path.starts_with(PURE)).flat_map(impurities).collect()
}

fn impurities(file: &File) -> Vec<Finding> {
    let code = file.masks.code.as_str();
    let mut found: Vec<(usize, String, &str)> = Vec::new();
    for (name, instead) in NAMES.iter().filter(|(name, _)| (&*file.path, *name) != SCATTERED) {
        let places = code.match_indices(name);
        found.extend(places.map(|(offset, _)| (offset, (*name).to_owned(), *instead)));
    }
    for (offset, start) in code.match_indices("std::") {
        let path = &code[offset + start.len()..];
        for (module, instead) in MODULES {
            if first_names(path).contains(module) {
                found.push((offset, format!("std::{module}"), instead));
            }
        }
    }
    let finding = |(offset, name, instead): (usize, String, &str)| {
        let advice = format!("core may not use {name}; use {instead}");
        file.finding(file.line_of(offset), "impure-core", advice)
    };
    found.into_iter().map(finding).collect()
}

/// The names directly below a path: one for `fs::read`, several for `{env, fs::File}`.
fn first_names(path: &str) -> Vec<&str> {
    let name = |part: &str| part.len() - part.trim_start_matches(is_name_char).len();
    let Some(group) = path.strip_prefix('{') else {
        return vec![&path[..name(path)]];
    };
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut starts = true;
    for (offset, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => starts = true,
            _ if c.is_whitespace() => {}
            _ if starts && depth == 0 => {
                starts = false;
                names.push(&group[offset..offset + name(&group[offset..])]);
            }
            _ => {}
        }
    }
    names
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    fn check_core(text: &str) -> String {
        report(check, &[("crates/core/src/a.rs", text)])
    }

    #[test]
    fn every_impure_name_is_found() {
        for (name, _) in NAMES {
            let text = format!("fn f() {{ let a = {name}(); }}");
            assert!(check_core(&text).contains(&format!("core may not use {name};")), "{name}");
        }
        for (module, _) in MODULES {
            let text = format!("use std::{module}::Thing;");
            assert!(check_core(&text).contains(&format!("std::{module}")), "{module}");
        }
    }

    #[test]
    fn groups_of_imports_are_looked_into() {
        assert_eq!(
            check_core("use std::{\n    collections::{BTreeMap, btree_map},\n    fs::File,\n};\n"),
            "crates/core/src/a.rs:1: impure-core: core may not use std::fs; \
             use facts that arrive inside the command"
        );
        assert_eq!(check_core("use std::{fmt, collections::{env, fs}};"), "");
    }

    #[test]
    fn prose_other_crates_and_other_names_pass() {
        assert_eq!(check_core("// no HashMap, no std::fs\nuse std::fmt;\nuse std::timeless;"), "");
        assert_eq!(report(check, &[("crates/engine/src/a.rs", "use std::thread;")]), "");
    }
}
