//! Keeps secrets out of what is shown: their values are replaced as they pass by.

/// What stands where a secret stood.
const MASK: &[u8] = b"***";
/// Shorter values are not masked: they would be found everywhere by chance.
pub(super) const VALUE_BYTES_MIN: usize = 4;

/// One stream, with what may become a secret held back.
#[derive(Debug, Default)]
pub(super) struct Mask {
    /// Longest first, so that a value that begins with another is replaced whole.
    values: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Mask {
    pub(super) fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        // A value of several lines is often shown line by line.
        let lines = values.into_iter().flat_map(|value| {
            let trimmed = value.trim_end();
            trimmed.lines().chain(std::iter::once(trimmed)).map(|line| line.as_bytes().to_vec())
        });
        let mut values: Vec<Vec<u8>> = lines.filter(|v| v.len() >= VALUE_BYTES_MIN).collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        values.dedup();
        Self { values, held: Vec::new() }
    }

    /// What may pass on of these bytes and those held back before.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.values.is_empty() {
            return bytes.to_vec();
        }
        self.held.extend_from_slice(bytes);
        self.replace(false)
    }

    /// What was held back and became no secret.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.replace(true)
    }

    fn replace(&mut self, is_last: bool) -> Vec<u8> {
        let (mut out, mut at) = (Vec::with_capacity(self.held.len()), 0);
        while let Some(rest) = self.held.get(at..).filter(|rest| !rest.is_empty()) {
            let may_become = |value: &Vec<u8>| value.len() > rest.len() && value.starts_with(rest);
            if !is_last && self.values.iter().any(may_become) {
                break;
            }
            match self.values.iter().find(|value| rest.starts_with(value)) {
                Some(value) => {
                    out.extend_from_slice(MASK);
                    at += value.len();
                }
                None => {
                    out.extend_from_slice(rest.get(..1).unwrap_or_default());
                    at += 1;
                }
            }
        }
        self.held.drain(..at);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in pieces of every size gives the same.
    fn check(values: &[&str], text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut mask = Mask::new(values.iter().copied());
            let mut out = Vec::new();
            text.as_bytes().chunks(size).for_each(|chunk| out.extend(mask.pass(chunk)));
            out.extend(mask.rest());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn values_are_replaced_wherever_they_are_cut() {
        check(&["hunter2"], "a hunter2, hunterhunter2 hunt", "a ***, hunter*** hunt");
        check(&["abcd", "abcdef"], "abcdef abcd abcde", "*** *** ***e");
        check(&["one\ntwo-\n"], "one\ntwo-\nthree two-x", "***\nthree ***x");
        check(&["abc", ""], "abc", "abc");
    }
}
