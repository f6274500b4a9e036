//! A store that is read and handed on in pieces, so that it need not fit into memory.

use armarius_engine::seam::StoreError;

use super::World;

/// Rows that are held in memory at a time.
pub(crate) const PIECE_ROWS_MAX: usize = 20_000;
/// Bytes of rows that are held in memory at a time, as the store holds them: a piece ends with the
/// row that reaches it.
pub(crate) const PIECE_BYTES_MAX: usize = 16 << 20;

/// How much of a store is held in memory at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    /// Rows; the events a commit names count too.
    pub(crate) rows_max: usize,
    /// Bytes of their cells, as the store holds them.
    pub(crate) bytes_max: usize,
}

impl Piece {
    /// Everything at once.
    pub(crate) const WHOLE: Self = Self { rows_max: usize::MAX, bytes_max: usize::MAX };
}

/// Takes one piece.
pub(crate) type Take<'t> = dyn FnMut(World) -> Result<(), StoreError> + 't;

/// Gathers rows, and hands them on whenever there are enough.
pub(crate) struct Basket<'t> {
    world: World,
    rows: usize,
    bytes: usize,
    max: Piece,
    take: &'t mut Take<'t>,
}

impl<'t> Basket<'t> {
    pub(crate) fn new(max: Piece, take: &'t mut Take<'t>) -> Self {
        Self { world: World::default(), rows: 0, bytes: 0, max, take }
    }

    /// Takes in a row that counts for `rows` and had so many bytes.
    pub(crate) fn put(
        &mut self,
        (rows, bytes): (usize, usize),
        put: impl FnOnce(&mut World),
    ) -> Result<(), StoreError> {
        put(&mut self.world);
        self.rows += rows;
        self.bytes += bytes;
        if self.rows < self.max.rows_max && self.bytes < self.max.bytes_max {
            return Ok(());
        }
        self.hand_on()
    }

    /// Hands on what is there, if only a little.
    pub(crate) fn hand_on(&mut self) -> Result<(), StoreError> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.bytes) = (0, 0);
        (self.take)(std::mem::take(&mut self.world))
    }
}
