//! A place in the log: behind a commit, and behind some events of the next one.

use std::fmt;

/// Everything up to commit `n` was told, and the first `k` events of the commit behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) n: i64,
    pub(super) k: usize,
}

impl Cursor {
    /// Right behind a commit.
    pub(super) fn at(n: i64) -> Self {
        Self { n, k: 0 }
    }

    /// Whether no such place exists in a log that ends at `head`.
    pub(super) fn is_beyond(&self, head: &Self) -> bool {
        self.n > head.n || (self.n == head.n && self.k > 0)
    }

    /// Reads `n` or `n.k`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (n, k) = text.split_once('.').unwrap_or((text, "0"));
        let n = n.parse().ok().filter(|n| *n >= 0)?;
        Some(Self { n, k: k.parse().ok()? })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.k {
            0 => write!(f, "{}", self.n),
            k => write!(f, "{}.{k}", self.n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back() {
        for (text, cursor) in [
            ("0", Some(Cursor { n: 0, k: 0 })),
            ("12", Some(Cursor { n: 12, k: 0 })),
            ("12.3", Some(Cursor { n: 12, k: 3 })),
            ("-1", None),
            ("", None),
            ("1.x", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Cursor::parse(text), cursor, "{text}");
        }
        assert_eq!(Cursor { n: 12, k: 3 }.to_string(), "12.3");
        assert_eq!(Cursor::at(12).to_string(), "12");
    }

    #[test]
    fn beyond_the_head_there_is_nothing() {
        let head = Cursor::at(5);
        let beyond = |n, k| Cursor { n, k }.is_beyond(&head);
        assert!(!beyond(4, 9) && !beyond(5, 0) && beyond(5, 1) && beyond(6, 0));
    }
}
