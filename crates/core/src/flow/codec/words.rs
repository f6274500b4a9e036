//! The words of a definition: choices that are written as one word, and references to tasks.

use super::super::{Class, Late, Missed, OnEmpty, Order, Overlap, Reference, When};
use crate::refusal::Refusal;
use crate::text::Name;

/// A choice that is written as one word, in canonical JSON and in flow files alike.
pub trait Word: Copy + PartialEq + 'static {
    /// Every choice.
    const ALL: &'static [Self];

    /// Its word.
    fn word(self) -> &'static str;

    /// The choice of that word.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.word() == word)
    }
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal),* $(,)? })*) => {$(
        impl Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    )*};
}

words! {
    Order { Oldest = "oldest", Newest = "newest" }
    Missed { Latest = "latest", All = "all", Skip = "skip" }
    Overlap { Skip = "skip", Allow = "allow", Replace = "replace" }
    OnEmpty { Pass = "pass", Run = "run" }
    When { Done = "done", Settled = "settled" }
    Class {
        Success = "success",
        Permanent = "permanent",
        Transient = "transient",
        NotYet = "not-yet",
    }
    Late { Record = "record", Accept = "accept" }
}

/// The word for this very task in the previous revision.
pub const PREV: &str = "PREV";
/// What stands before the name of a task in the previous revision.
pub const PREV_PREFIX: &str = "PREV:";
/// The task every revision has, on which all its others depend.
pub const COMMIT: &str = "COMMIT";

/// How a reference is written: `task`, `PREV` or `PREV:task`.
#[must_use]
pub fn reference_text(reference: &Reference) -> String {
    match reference {
        Reference::Task(name) => name.to_string(),
        Reference::Prev => PREV.to_owned(),
        Reference::PrevTask(name) => format!("{PREV_PREFIX}{name}"),
    }
}

/// Reads what [`reference_text`] writes. Every other text is the name of a task.
pub fn parse_reference(text: &str) -> Result<Reference, Refusal> {
    if text == PREV {
        return Ok(Reference::Prev);
    }
    match text.strip_prefix(PREV_PREFIX) {
        Some(name) => Name::new(name).map(Reference::PrevTask),
        None => Name::new(text).map(Reference::Task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_back<W: Word + std::fmt::Debug>() {
        for choice in W::ALL {
            assert_eq!(W::from_word(choice.word()), Some(*choice));
        }
        assert_eq!(W::from_word("Oldest"), None);
    }

    #[test]
    fn every_word_reads_back() {
        reads_back::<Order>();
        reads_back::<Missed>();
        reads_back::<Overlap>();
        reads_back::<OnEmpty>();
        reads_back::<When>();
        reads_back::<Class>();
        reads_back::<Late>();
    }

    #[test]
    fn references_read_back() {
        for text in ["indexing", "PREV", "PREV:indexing", "PREV:PREV", "prev", "a:b"] {
            assert_eq!(reference_text(&parse_reference(text).unwrap()), text);
        }
        assert!(parse_reference("PREV:").is_err());
        assert!(parse_reference("").is_err());
    }
}
