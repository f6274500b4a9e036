//! A place in the log of every shard: behind a commit, and behind some events of the next one.

use std::fmt;

/// One place per shard, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cursor(pub(super) Vec<Place>);

/// Everything up to commit `n` was told, and the first `k` events of the commit behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) n: i64,
    pub(super) k: usize,
}

impl Cursor {
    /// The place in a shard.
    pub(super) fn place(&self, shard: u16) -> Place {
        self.0.get(usize::from(shard)).copied().unwrap_or_default()
    }

    /// The same with another place in one shard.
    pub(super) fn with(&self, shard: u16, place: Place) -> Self {
        let mut cursor = self.clone();
        if let Some(old) = cursor.0.get_mut(usize::from(shard)) {
            *old = place;
        }
        cursor
    }

    /// Whether no such place exists in logs that end at `head`.
    pub(super) fn is_beyond(&self, head: &Self) -> bool {
        self.0.len() != head.0.len()
            || self
                .0
                .iter()
                .zip(&head.0)
                .any(|(place, end)| place.n > end.n || (place.n == end.n && place.k > 0))
    }

    /// Reads places separated by commas, each `n` or `n.k`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.split(',').map(Place::parse).collect::<Option<_>>().map(Self)
    }
}

impl Place {
    /// Right behind a commit.
    pub(super) fn at(n: i64) -> Self {
        Self { n, k: 0 }
    }

    fn parse(text: &str) -> Option<Self> {
        let (n, k) = text.split_once('.').unwrap_or((text, "0"));
        let n = n.parse().ok().filter(|n| *n >= 0)?;
        Some(Self { n, k: k.parse().ok()? })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, place) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match place.k {
                0 => write!(f, "{}", place.n)?,
                k => write!(f, "{}.{k}", place.n)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(places: &[(i64, usize)]) -> Cursor {
        Cursor(places.iter().map(|(n, k)| Place { n: *n, k: *k }).collect())
    }

    #[test]
    fn a_cursor_reads_back() {
        for (text, wanted) in [
            ("0", Some(cursor(&[(0, 0)]))),
            ("12.3", Some(cursor(&[(12, 3)]))),
            ("12,7.1,0", Some(cursor(&[(12, 0), (7, 1), (0, 0)]))),
            ("-1", None),
            ("", None),
            ("1,", None),
            ("1.x", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(Cursor::parse(text), wanted, "{text}");
            if let Some(cursor) = wanted {
                assert_eq!(cursor.to_string(), text);
            }
        }
    }

    #[test]
    fn beyond_the_head_there_is_nothing() {
        let head = cursor(&[(5, 0), (2, 0)]);
        for (places, beyond) in [
            (&[(4, 9), (2, 0)][..], false),
            (&[(5, 0), (2, 0)][..], false),
            (&[(5, 1), (2, 0)][..], true),
            (&[(5, 0), (3, 0)][..], true),
            (&[(5, 0)][..], true),
        ] {
            assert_eq!(cursor(places).is_beyond(&head), beyond, "{places:?}");
        }
    }
}
