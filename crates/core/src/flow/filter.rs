//! Whether a flow `on: commit` wants a revision: by its author and by the paths it changed.

use super::On;
use crate::text::Text;

/// What a filter looks at.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// Who made the revision.
    pub author: &'a str,
    /// Paths it changed, relative to the archive's root.
    pub paths: &'a [Text],
    /// Whether there are more paths than are told; a filter then lets the revision pass.
    pub more: bool,
}

/// Why a flow does not want a revision; nothing when it does.
#[must_use]
pub fn refuses(on: &On, change: Change<'_>) -> Option<&'static str> {
    let On::Commit { paths, ignore_authors } = on else { return Some("not woken by commits") };
    if ignore_authors.iter().any(|author| **author == *change.author) {
        return Some("its author is ignored");
    }
    let touches = |pattern: &Text| change.paths.iter().any(|path| matches(pattern, path));
    if paths.is_empty() || change.more || paths.iter().any(touches) {
        return None;
    }
    Some("no path it wants was changed")
}

/// Whether a path fits a pattern, segment by segment: `*` and `?` stay within a segment, `**` spans
/// any number of them. A pattern without a slash fits the last segment anywhere; one that ends in
/// a slash fits everything below.
#[must_use]
pub fn matches(pattern: &str, path: &str) -> bool {
    let path: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    let trimmed = pattern.trim_start_matches('/');
    let mut wanted: Vec<&str> = trimmed.split('/').filter(|s| !s.is_empty()).collect();
    if pattern.ends_with('/') {
        wanted.push("**");
    } else if !pattern.contains('/') {
        wanted.insert(0, "**");
    }
    spread(&wanted, &path, |wanted, segment| {
        let wanted: Vec<char> = wanted.chars().collect();
        let segment: Vec<char> = segment.chars().collect();
        fits(&wanted, &segment)
    })
}

/// Matches lists in which `**` stands for any number of elements. Only the last `**` is ever taken
/// back, so the work stays within the product of both lengths.
fn spread(wanted: &[&str], given: &[&str], one: impl Fn(&str, &str) -> bool) -> bool {
    greedy(wanted, given, |w| *w == "**", |w, g| one(w, g))
}

/// Matches one segment in which `*` stands for any number of characters and `?` for one.
fn fits(wanted: &[char], given: &[char]) -> bool {
    greedy(wanted, given, |w| *w == '*', |w, g| *w == '?' || w == g)
}

fn greedy<W, G>(
    wanted: &[W],
    given: &[G],
    is_any: impl Fn(&W) -> bool,
    fits: impl Fn(&W, &G) -> bool,
) -> bool {
    let (mut w, mut g) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(element) = given.get(g) {
        match wanted.get(w) {
            Some(any) if is_any(any) => {
                back = Some((w, g));
                w += 1;
            }
            Some(one) if fits(one, element) => {
                w += 1;
                g += 1;
            }
            Some(_) | None => {
                let Some((any, from)) = back else { return false };
                back = Some((any, from + 1));
                (w, g) = (any + 1, from + 1);
            }
        }
    }
    wanted.iter().skip(w).all(is_any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_paths() {
        for (pattern, path, fits) in [
            ("docs/**", "docs/a/b.md", true),
            ("docs/**", "docs", true),
            ("docs/**", "other/docs/a", false),
            ("docs/", "docs/a", true),
            ("*.md", "a/b/c.md", true),
            ("*.md", "a.mdx", false),
            ("a/*.md", "a/b/c.md", false),
            ("a/**/c.md", "a/c.md", true),
            ("a/**/c.md", "a/x/y/c.md", true),
            ("/a/?.txt", "a/b.txt", true),
            ("/a/?.txt", "a/bb.txt", false),
            ("**/x*y*z", "p/q/xaybz", true),
            ("é?", "éa", true),
            ("a/b", "/a/b/", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
        // Nothing an author can write takes long.
        let (pattern, path) = ("*a".repeat(500), "a".repeat(5_000) + "b");
        assert!(!matches(&pattern, &path));
    }

    #[test]
    fn authors_and_unknown_paths() {
        let on = On::Commit { paths: vec!["docs/".into()], ignore_authors: vec!["robot".into()] };
        let paths = [Text::from("src/a")];
        let change = |author, more| Change { author, paths: &paths, more };
        assert!(refuses(&on, change("ada", false)).is_some());
        assert!(refuses(&on, change("ada", true)).is_none());
        assert!(refuses(&on, change("robot", true)).is_some());
    }
}
