//! What SQLite's errors mean, by what is to be done next.

use armarius_engine::seam::StoreError;
use rusqlite::{Error, ErrorCode, ffi};

/// The outcome of anything that touches the file.
pub(super) type Answer<T> = Result<T, StoreError>;

/// Extends results of SQLite calls.
pub(super) trait OrFault<T> {
    /// Says the error in the words of the seam.
    fn or_fault(self) -> Answer<T>;
}

impl<T> OrFault<T> for rusqlite::Result<T> {
    fn or_fault(self) -> Answer<T> {
        self.map_err(|e| fault(&e))
    }
}

/// A contradiction in what is stored.
pub(super) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

fn fault(error: &Error) -> StoreError {
    let text = error.to_string();
    match error {
        Error::SqliteFailure(code, _) => by_code(*code, text),
        // A value of another type than its column: the schema is strict, so the file is damaged.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => StoreError::Corrupt(text),
        _ => StoreError::Unavailable(text),
    }
}

fn by_code(code: ffi::Error, text: String) -> StoreError {
    match code.code {
        ErrorCode::DiskFull => StoreError::Full(text),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(text),
        // A unique key that is taken, a null where none may be: rows and rules disagree.
        ErrorCode::ConstraintViolation => StoreError::Corrupt(text),
        ErrorCode::SystemIoFailure => by_io(code.extended_code, text),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
            StoreError::Unusable(text)
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OutOfMemory => {
            StoreError::Unavailable(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

/// What the disk did not take or give back is lost for this process, whatever a second try would
/// say: after a failed fsync the kernel may have dropped the pages and call the next one a success.
fn by_io(extended: i32, text: String) -> StoreError {
    match extended {
        ffi::SQLITE_IOERR_NOMEM
        | ffi::SQLITE_IOERR_BLOCKED
        | ffi::SQLITE_IOERR_LOCK
        | ffi::SQLITE_IOERR_RDLOCK
        | ffi::SQLITE_IOERR_UNLOCK
        | ffi::SQLITE_IOERR_SHMLOCK
        | ffi::SQLITE_IOERR_CHECKRESERVEDLOCK => StoreError::Unavailable(text),
        // The shared index of the log could not grow: there is no room for it.
        ffi::SQLITE_IOERR_SHMSIZE => StoreError::Full(text),
        _ => StoreError::Disk(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_says_what_to_do_next() {
        for (extended, word) in [
            (ffi::SQLITE_FULL, "full"),
            (ffi::SQLITE_IOERR_FSYNC, "disk"),
            (ffi::SQLITE_IOERR_WRITE, "disk"),
            (ffi::SQLITE_IOERR_SHMSIZE, "full"),
            (ffi::SQLITE_IOERR_NOMEM, "unavailable"),
            (ffi::SQLITE_CORRUPT, "corrupt"),
            (ffi::SQLITE_NOTADB, "corrupt"),
            (ffi::SQLITE_BUSY, "unavailable"),
            (ffi::SQLITE_CANTOPEN, "unusable"),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, "corrupt"),
        ] {
            let got = match fault(&Error::SqliteFailure(ffi::Error::new(extended), None)) {
                StoreError::Unavailable(_) => "unavailable",
                StoreError::Unknown(_) => "unknown",
                StoreError::Full(_) => "full",
                StoreError::Unusable(_) => "unusable",
                StoreError::Corrupt(_) => "corrupt",
                StoreError::Disk(_) => "disk",
            };
            assert_eq!(got, word, "code {extended}");
        }
    }
}
