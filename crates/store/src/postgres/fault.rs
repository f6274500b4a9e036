//! What PostgreSQL's errors mean, by what is to be done next.

use armarius_engine::seam::StoreError;

use super::wire::Trouble;

/// The outcome of anything that touches the database.
pub(super) type Answer<T> = Result<T, StoreError>;

/// A contradiction in what is stored.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

/// Says trouble in the words of the seam.
pub(super) fn fault(trouble: Trouble) -> StoreError {
    match trouble {
        Trouble::Link(why) => StoreError::Unavailable(why),
        // Somebody else answers at this address, or rows were made that fit no table.
        Trouble::Nonsense(why) => StoreError::Unusable(why),
        Trouble::Server(complaint) => by_code(&complaint.code, complaint.to_string()),
    }
}

fn by_code(code: &str, text: String) -> StoreError {
    match code {
        // Disk full, and what the server says when it cannot extend a file.
        "53100" => StoreError::Full(text),
        // A page or an index that is damaged.
        "XX001" | "XX002" => StoreError::Corrupt(text),
        // The disk failed below the server; it has stopped or soon will.
        "58030" => StoreError::Unavailable(text),
        // Wrong password, unknown database, no right to a table.
        "3D000" | "42501" => StoreError::Unusable(text),
        _ => match code.get(..2) {
            // Unique keys that are taken, nulls, checks: rows and rules disagree.
            Some("23") => StoreError::Corrupt(text),
            // Statements that do not fit the schema: another program's tables, or a newer one's.
            Some("42" | "3F") => StoreError::Unusable(text),
            Some("28") => StoreError::Unusable(text),
            // Everything else passes: lost connections, timeouts, shutdowns, too many clients.
            _ => StoreError::Unavailable(text),
        },
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> Self {
        fault(trouble)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_says_what_to_do_next() {
        for (code, word) in [
            ("57P01", "store is unavailable"),
            ("57014", "store is unavailable"),
            ("55P03", "store is unavailable"),
            ("53300", "store is unavailable"),
            ("25006", "store is unavailable"),
            ("53100", "store is full"),
            ("23505", "store is corrupt"),
            ("XX001", "store is corrupt"),
            ("42P01", "store cannot be used"),
            ("28P01", "store cannot be used"),
            ("3D000", "store cannot be used"),
        ] {
            let said = by_code(code, "why".to_owned()).to_string();
            assert!(said.starts_with(word), "{code}: {said}");
        }
    }
}
