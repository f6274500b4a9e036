//! One file of chunks.
//!
//! It begins with a mark and the lease that began it. Each chunk has a head of 16 bytes (offset of
//! its first byte, its length, its length when compressed; little-endian), then a frame of zstd,
//! whose checksum tells a whole chunk from half of one.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use armarius_core::ids::LeaseId;
use armarius_engine::output::Piece;

use super::pack::{add, pack, unpack};

/// What such a file begins with.
const MARK: &[u8; 8] = b"ARMOUT1\n";
/// Bytes of mark and lease.
const HEAD_BYTES: u64 = 24;
/// Bytes of a chunk's head.
const CHUNK_HEAD_BYTES: usize = 16;
/// Bytes of one chunk.
const CHUNK_BYTES_MAX: u32 = 4 * 1024 * 1024;

/// The end of a file, for adding to it.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    /// Offset in the output at which it ends.
    end: u64,
}

/// A file from its beginning.
pub(super) struct Reader {
    file: BufReader<File>,
    end: u64,
    is_over: bool,
}

/// The head of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    from: u64,
    bytes: u32,
    packed: u32,
}

impl Writer {
    /// Opens a file, makes it if needed, and cuts off half a chunk at its end. `at` is the offset
    /// at which the file begins.
    pub(super) fn open(path: &Path, lease: LeaseId, at: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        if read_lease(&mut file)?.is_none() {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(&[&MARK[..], &lease.0.to_be_bytes()].concat())?;
        }
        let mut reader = Reader::new(file.try_clone()?, at)?;
        let mut good = HEAD_BYTES;
        while let Some((head, _)) = reader.next()? {
            good += CHUNK_HEAD_BYTES as u64 + u64::from(head.packed);
        }
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good))?;
        Ok(Self { file, end: reader.end })
    }

    /// Offset behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds bytes at an offset that is not before the end.
    pub(super) fn append(&mut self, mut from: u64, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(CHUNK_BYTES_MAX as usize) {
            let packed = pack(part)?;
            let length = |n: usize| u32::try_from(n).map_err(io::Error::other);
            let head = Head { from, bytes: length(part.len())?, packed: length(packed.len())? };
            // Head and frame in one write: what is cut off is cut off whole.
            self.file.write_all(&[&head.write()[..], &packed].concat())?;
            from += part.len() as u64;
            self.end = from;
        }
        Ok(())
    }
}

impl Reader {
    pub(super) fn open(path: &Path, at: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let known = read_lease(&mut file)?.is_some();
        let reader = Self::new(file, at)?;
        Ok(Self { is_over: !known, ..reader })
    }

    fn new(mut file: File, at: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(HEAD_BYTES))?;
        Ok(Self { file: BufReader::new(file), end: at, is_over: false })
    }

    /// The next whole chunk. Behind half a chunk there is nothing.
    fn next(&mut self) -> io::Result<Option<(Head, Vec<u8>)>> {
        let Some(head) = self.head()? else { return Ok(None) };
        let mut packed = vec![0; head.packed as usize];
        if !fill(&mut self.file, &mut packed)? {
            self.is_over = true;
            return Ok(None);
        }
        let Some(bytes) = unpack(&packed, head.bytes as usize) else {
            self.is_over = true;
            return Ok(None);
        };
        self.end = head.from + u64::from(head.bytes);
        Ok(Some((head, bytes)))
    }

    fn head(&mut self) -> io::Result<Option<Head>> {
        let mut bytes = [0; CHUNK_HEAD_BYTES];
        if self.is_over || !fill(&mut self.file, &mut bytes)? {
            self.is_over = true;
            return Ok(None);
        }
        let head = Head::read(bytes).filter(|head| head.from >= self.end);
        self.is_over = head.is_none();
        Ok(head)
    }

    /// Adds what follows the piece without a gap; an empty piece begins where there is something.
    pub(super) fn collect(&mut self, piece: &mut Piece, bytes_max: usize) -> io::Result<()> {
        while piece.bytes.len() < bytes_max {
            let Some((head, bytes)) = self.next()? else { return Ok(()) };
            if !add(piece, head.from, &bytes, bytes_max) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Offset behind the last byte of the file. Chunks that were not read are passed over.
    pub(super) fn end(&mut self) -> io::Result<u64> {
        let length = self.file.get_ref().metadata()?.len();
        while let Some(head) = self.head()? {
            let behind = self.file.stream_position()? + u64::from(head.packed);
            if behind > length {
                break;
            }
            self.file.seek_relative(i64::from(head.packed))?;
            self.end = head.from + u64::from(head.bytes);
        }
        Ok(self.end)
    }
}

impl Head {
    fn write(self) -> [u8; CHUNK_HEAD_BYTES] {
        let mut bytes = [0; CHUNK_HEAD_BYTES];
        let fields =
            [&self.from.to_le_bytes()[..], &self.bytes.to_le_bytes(), &self.packed.to_le_bytes()];
        for (to, from) in bytes.iter_mut().zip(fields.concat()) {
            *to = from;
        }
        bytes
    }

    fn read(all: [u8; CHUNK_HEAD_BYTES]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = all;
        let head = Self {
            from: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            bytes: u32::from_le_bytes([i, j, k, l]),
            packed: u32::from_le_bytes([m, n, o, p]),
        };
        let fits = head.bytes <= CHUNK_BYTES_MAX && head.packed <= 2 * CHUNK_BYTES_MAX;
        fits.then_some(head)
    }
}

/// The lease that began a file.
pub(super) fn lease_of(path: &Path) -> io::Result<LeaseId> {
    let lease = read_lease(&mut File::open(path)?)?;
    lease.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "is no file of output"))
}

/// `None` when the file does not begin as such files do: it was cut off before it had begun.
fn read_lease(file: &mut File) -> io::Result<Option<LeaseId>> {
    let (mut mark, mut lease) = ([0; 8], [0; 16]);
    file.rewind()?;
    let is_whole = fill(file, &mut mark)? && fill(file, &mut lease)?;
    Ok((is_whole && mark == *MARK).then_some(LeaseId(u128::from_be_bytes(lease))))
}

/// Reads until the buffer is full; `false` when the file ends before.
fn fill(from: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
