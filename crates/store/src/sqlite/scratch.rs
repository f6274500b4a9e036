//! A file without a name, for looking at what is elsewhere: SQLite removes it when it is closed.

use rusqlite::Connection;

use super::audit::{self, Pieces};
use super::commit;
use super::desk::Desk;
use super::fault::{Answer, OrFault as _};
use super::inspect::Watch;
use super::migrate;
use super::open::keep_statements;
use super::rows::event;
use crate::world::World;

/// Rows of another store, put into a temporary file so that they can be audited piece by piece.
#[derive(Debug)]
pub(crate) struct Scratch {
    desk: Desk,
}

impl Scratch {
    pub(crate) fn new() -> Answer<Self> {
        let conn = Connection::open("").or_fault()?;
        keep_statements(&conn)?;
        conn.pragma_update(None, "cache_size", -16_384).or_fault()?;
        conn.pragma_update(None, "temp_store", 1).or_fault()?;
        conn.pragma_update(None, "foreign_keys", 0).or_fault()?;
        let desk = Desk::new(conn);
        migrate::migrate(&desk)?;
        Ok(Self { desk })
    }

    /// Takes in some rows and events.
    pub(crate) fn take(&self, rows: &World) -> Answer<()> {
        for page in rows.to_pages(0, usize::MAX) {
            self.desk.run("begin", ())?;
            commit::write_rows(&self.desk, &page)?;
            event::write_events(&self.desk, &page)?;
            self.desk.run("commit", ())?;
            self.desk.words.committed();
        }
        Ok(())
    }

    /// Holds rows against each other and against the history.
    pub(crate) fn audit(&self, pieces: Pieces, watch: &mut Watch<'_>) -> Vec<String> {
        audit::audit(&self.desk, pieces, watch)
    }
}
