//! Rows against rows and against the history.
//!
//! The shard, as of one moment, is moved into a temporary file in pieces and looked at there, as
//! every file is: neither its memory nor the database's is asked to hold it, and the transaction
//! that reads it ends when it is read.

use super::Postgres;
use super::dump;
use super::fault::Answer;
use crate::sqlite::{Pieces, Scratch, Watch};
use crate::world::{Basket, PIECE_BYTES_MAX, PIECE_ROWS_MAX, Piece, World};

impl Postgres {
    /// Everything that is wrong, or nothing. It takes room for the shard in the folder for
    /// temporary files (`SQLITE_TMPDIR`, `TMPDIR`, `/var/tmp`).
    pub fn audit(&self, watch: &mut Watch<'_>) -> Vec<String> {
        self.audit_in(Pieces::default(), watch)
    }

    /// As [`Postgres::audit`], in pieces of another size.
    pub fn audit_in(&self, pieces: Pieces, watch: &mut Watch<'_>) -> Vec<String> {
        match self.scratch(watch) {
            Ok(scratch) => scratch.audit(pieces, watch),
            Err(error) => vec![error.to_string()],
        }
    }

    fn scratch(&self, watch: &mut Watch<'_>) -> Answer<Scratch> {
        let scratch = Scratch::new()?;
        let mut pieces = 0;
        let mut take = |rows: World| {
            scratch.take(&rows)?;
            pieces += 1;
            watch("pieces of the shard read", pieces, 0);
            Ok(())
        };
        let piece = Piece { rows_max: PIECE_ROWS_MAX, bytes_max: PIECE_BYTES_MAX };
        dump::rows(&mut self.aside(), &mut Basket::new(piece, &mut take))?;
        Ok(scratch)
    }
}
