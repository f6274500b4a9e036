//! Did you mean …?

/// Longest word that is compared, in characters: nobody mistypes a longer one in a way worth
/// guessing, and the comparison costs its square.
const WORD_CHARS_MAX: usize = 64;

/// The candidate that is spelled most like `word`, if one is close enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded: Vec<char> = word.chars().take(WORD_CHARS_MAX + 1).collect();
    if folded.len() > WORD_CHARS_MAX {
        return None;
    }
    let folded: Vec<char> = folded.into_iter().flat_map(char::to_lowercase).collect();
    let close_enough = (folded.len() / 3).max(1);
    let scored = candidates.into_iter().filter_map(|candidate| {
        let other: Vec<char> = candidate.to_lowercase().chars().collect();
        let apart = other.len().abs_diff(folded.len());
        if apart > close_enough || other.len() > 2 * WORD_CHARS_MAX {
            return None;
        }
        // Of very short words nearly any other is close; half of it must stand.
        let score = distance(&folded, &other);
        let close = score <= close_enough && 2 * score <= folded.len().max(other.len());
        close.then_some((score, candidate))
    });
    scored.min_by_key(|(score, _)| *score).map(|(_, candidate)| candidate)
}

/// `did you mean "x"?`, or what to do when nothing is close.
#[must_use]
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match nearest(word, candidates) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise.to_owned(),
    }
}

/// How many insertions, deletions, changes and swaps of neighbours lie between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let changed = last[j] + usize::from(from != to);
            let mut best = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && b[j - 1] == *from {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let keys = ["depends", "cancels", "command", "ttl", "a"];
        for (word, meant) in [
            ("depend", Some("depends")),
            ("Depends", Some("depends")),
            ("dpeends", Some("depends")),
            ("comand", Some("command")),
            ("tll", Some("ttl")),
            ("colour", None),
            ("x", None),
            ("", None),
            (&"x".repeat(100_000), None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word:?}");
        }
    }

    #[test]
    fn a_swap_counts_once() {
        let chars = |s: &str| s.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("ab"), &chars("ba")), 1);
        assert_eq!(distance(&chars("kitten"), &chars("sitting")), 3);
        assert_eq!(distance(&chars(""), &chars("abc")), 3);
    }
}
