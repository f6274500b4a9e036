//! Text that crosses the boundary: checked once, cheap to copy afterwards.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::limits;
use crate::refusal::{Code, Refusal};

/// Free text, shared.
pub type Text = Arc<str>;

/// A name: of a collection, kind, flow, step, event, worker, label or actor.
///
/// One to [`limits::NAME_BYTES_MAX`] bytes of UTF-8 without control characters, compared by bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Checks and shares a name.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        check("name", text, 1, limits::NAME_BYTES_MAX)?;
        if text.chars().any(char::is_control) {
            return Err(Refusal::new(
                Code::BadName,
                format!("name {text:?} has a control character"),
            )
            .hint("use printable characters only"));
        }
        Ok(Self(Arc::from(text)))
    }

    /// Takes a name that was checked when it was stored, or that the program itself chose.
    #[must_use]
    pub fn trusted(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Refuses text that is too short, too long, or has a NUL, which no SQL store keeps faithfully.
pub fn check(what: &str, text: &str, bytes_min: usize, bytes_max: usize) -> Result<(), Refusal> {
    if text.len() < bytes_min {
        return Err(Refusal::new(Code::BadName, format!("{what} is empty"))
            .hint("give at least one character"));
    }
    if text.len() > bytes_max {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("{what} has {} bytes, more than {bytes_max}", text.len()),
        )
        .hint("shorten it, or keep the content elsewhere and pass its address"));
    }
    if text.contains('\0') {
        return Err(Refusal::new(Code::BadName, format!("{what} contains a NUL character"))
            .hint("remove the NUL"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for (text, ok) in [
            ("ocr", true),
            ("éàü 書", true),
            ("", false),
            ("a\nb", false),
            ("a\0b", false),
            (&"x".repeat(128), true),
            (&"x".repeat(129), false),
        ] {
            assert_eq!(Name::new(text).is_ok(), ok, "{text:?}");
        }
    }
}
