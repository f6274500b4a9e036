//! Chunks: compressed one by one, and put together again.

use std::io::{self, Read as _, Write as _};

use armarius_engine::output::Piece;

/// Text at this level shrinks nearly as much as at any other, in a fraction of the time.
const LEVEL: i32 = 1;

/// A frame whose checksum tells a whole chunk from half of one.
pub(crate) fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// `None` when it is not what was packed.
pub(crate) fn unpack(packed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length);
    let decoder = zstd::stream::Decoder::new(packed).ok()?;
    decoder.take(length as u64 + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() == length).then_some(bytes)
}

/// Adds what of a chunk follows the piece without a gap; an empty piece begins where there is
/// something. `false` when the chunk lies behind a gap.
pub(crate) fn add(piece: &mut Piece, from: u64, bytes: &[u8], bytes_max: usize) -> bool {
    let wanted = piece.from + piece.bytes.len() as u64;
    if from + bytes.len() as u64 <= wanted {
        return true;
    }
    if from > wanted {
        if !piece.bytes.is_empty() {
            return false;
        }
        piece.from = from;
    }
    let skip = usize::try_from(wanted.saturating_sub(from)).unwrap_or(usize::MAX);
    let room = bytes_max.saturating_sub(piece.bytes.len());
    piece.bytes.extend(bytes.get(skip..).unwrap_or_default().iter().take(room));
    true
}
