//! A file as a tree in which every value knows where it stands.

/// Longest piece of a value that is repeated in a message, in characters.
const SHOWN_CHARS_MAX: usize = 40;

/// Line and column, from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Place {
    /// The beginning of the file.
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// What a value is, before anybody expects something of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `null`, `~` or nothing at all.
    Nothing,
    /// A number, `true` or `false`, as it is spelled in the file.
    Plain(String),
    /// Any other text, quoted or not.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map; the keys are unlike each other.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// The spelling of a text, number, `true` or `false`.
    pub(super) fn spelling(&self) -> Option<&str> {
        match &self.kind {
            Kind::Plain(text) | Kind::Text(text) => Some(text),
            Kind::Nothing | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => {
                entries.iter().find(|(k, _)| k.spelling() == Some(key)).map(|(_, value)| value)
            }
            Kind::Nothing | Kind::Plain(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }

    /// What stands here, for a message.
    pub(super) fn described(&self) -> String {
        match &self.kind {
            Kind::Nothing => "nothing".to_owned(),
            Kind::Plain(text) => format!("`{}`", shown(text)),
            Kind::Text(text) => format!("the text {:?}", shown(text)),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
        }
    }
}

/// The beginning of a text, for a message.
pub(super) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// The place just after a text.
pub(super) fn place_after(text: &str) -> Place {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let last = text.rsplit('\n').next().unwrap_or_default();
    Place { line: count(text.matches('\n').count()) + 1, column: count(last.chars().count()) + 1 }
}
