//! How the process ends when the lane cannot go on.
//!
//! The engine never ends the process itself: it reports a [`Fatal`], and the binary exits with its
//! code. The numbers follow `sysexits.h`, so that a supervisor's rules for them mean the same.

use crate::seam::StoreError;

/// What is stored contradicts itself (`EX_DATAERR`). Restarting does not help; restore or repair.
pub const CORRUPT: u8 = 65;
/// The store cannot be used by this process (`EX_UNAVAILABLE`): held by another, newer schema.
pub const UNUSABLE: u8 = 69;
/// The program broke a rule of its own (`EX_SOFTWARE`). Restart, and report it.
pub const SOFTWARE: u8 = 70;
/// The disk did not keep what it was given (`EX_IOERR`). Restart once; what was answered is there.
pub const DISK: u8 = 74;

/// Why the lane stopped for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// The code the process should exit with.
    pub code: u8,
    /// What happened, as a lower-case fragment.
    pub sentence: String,
}

impl std::fmt::Display for Fatal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (exit code {})", self.sentence, self.code)
    }
}

impl std::error::Error for Fatal {}

impl Fatal {
    /// The end a store error means, or `None` when the lane can go on.
    #[must_use]
    pub fn of(error: &StoreError) -> Option<Self> {
        let code = match error {
            StoreError::Unavailable(_) | StoreError::Full(_) | StoreError::Unknown(_) => {
                return None;
            }
            StoreError::Unusable(_) => UNUSABLE,
            StoreError::Corrupt(_) => CORRUPT,
            StoreError::Disk(_) => DISK,
        };
        Some(Self { code, sentence: error.to_string() })
    }

    /// The program broke a rule of its own.
    #[must_use]
    pub fn software(sentence: impl Into<String>) -> Self {
        Self { code: SOFTWARE, sentence: sentence.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_error_has_its_end() {
        let why = String::from("why");
        for (error, code) in [
            (StoreError::Unavailable(why.clone()), None),
            (StoreError::Full(why.clone()), None),
            (StoreError::Unknown(why.clone()), None),
            (StoreError::Unusable(why.clone()), Some(69)),
            (StoreError::Corrupt(why.clone()), Some(65)),
            (StoreError::Disk(why), Some(74)),
        ] {
            assert_eq!(Fatal::of(&error).map(|f| f.code), code, "{error}");
        }
    }
}
