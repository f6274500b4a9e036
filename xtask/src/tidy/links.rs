//! Links between pages lead somewhere.

use super::Finding;
use super::tree::{File, Tree, has_ending};

/// Looks at every `[text](target)` of the documentation whose target is a file of ours.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files.iter().filter(|file| has_ending(&file.path, "md"));
    pages.flat_map(|page| links(tree, page)).collect()
}

fn links(tree: &Tree, page: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (offset, start) in page.text.match_indices("](") {
        let rest = &page.text[offset + start.len()..];
        let target = &rest[..rest.find([')', '\n', ' ']).unwrap_or(rest.len())];
        let path = target.split('#').next().unwrap_or(target);
        if path.is_empty() || path.contains(':') || tree.has(&resolve(page.folder(), path)) {
            continue;
        }
        let advice = format!("{target} does not exist; write the page or mend the link");
        findings.push(page.finding(page.line_of(offset), "dead-link", advice));
    }
    findings
}

/// A path from the root, for a path as seen from a folder.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::check;

    #[test]
    fn dead_link_is_found() {
        let files = [("docs/a.md", "one\n[b](b.md) and [c](../c.md#part)\n"), ("c.md", "")];
        assert_eq!(
            report(check, &files),
            "docs/a.md:2: dead-link: b.md does not exist; write the page or mend the link"
        );
    }

    #[test]
    fn folders_anchors_and_the_web_pass() {
        let text = "[a](#here) [b](https://example.org/x) [c](docs/) [d](./docs/a.md)\n";
        assert_eq!(report(check, &[("README.md", text), ("docs/a.md", "")]), "");
    }
}
