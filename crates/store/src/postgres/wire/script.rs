//! Statements with their values, to be sent together.
//!
//! Every value says its type, so that nothing is asked about before it is sent. How a statement
//! goes out, with a name or without, is the conversation's business.

use std::borrow::Cow;

use bytes::{BufMut as _, BytesMut};
use postgres_protocol::message::frontend;

use super::trouble::Trouble;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Kind {
    /// `smallint`.
    I2,
    /// `integer`.
    I4,
    /// `integer` that holds a count: what does not fit wraps around, and is read back so.
    U4,
    /// `bigint`.
    I8,
    /// `text`.
    Text,
    /// `bytea`.
    Bytes,
    /// `boolean`.
    Flag,
}

impl Kind {
    pub(in crate::postgres) fn sql(self) -> &'static str {
        match self {
            Self::I2 => "smallint",
            Self::I4 | Self::U4 => "integer",
            Self::I8 => "bigint",
            Self::Text => "text",
            Self::Bytes => "bytea",
            Self::Flag => "boolean",
        }
    }

    fn oid(self) -> u32 {
        match self {
            Self::I2 => 21,
            Self::I4 | Self::U4 => 23,
            Self::I8 => 20,
            Self::Text => 25,
            Self::Bytes => 17,
            Self::Flag => 16,
        }
    }

    fn list_oid(self) -> u32 {
        match self {
            Self::I2 => 1_005,
            Self::I4 | Self::U4 => 1_007,
            Self::I8 => 1_016,
            Self::Text => 1_009,
            Self::Bytes => 1_001,
            Self::Flag => 1_000,
        }
    }
}

/// One value.
#[derive(Clone, Debug)]
pub(in crate::postgres) enum Cell<'a> {
    Null,
    Int(i64),
    Flag(bool),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Cell<'_> {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Cell<'_> {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl<'a> From<&'a [u8]> for Cell<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a [u8; 32]> for Cell<'a> {
    fn from(value: &'a [u8; 32]) -> Self {
        Self::Bytes(Cow::Borrowed(value))
    }
}

impl From<[u8; 16]> for Cell<'_> {
    fn from(value: [u8; 16]) -> Self {
        Self::Bytes(Cow::Owned(value.to_vec()))
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Rows as columns of one type each, for statements that take lists.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct Grid {
    columns: Vec<List>,
    rows: usize,
}

#[derive(Clone, Debug)]
struct List {
    kind: Kind,
    bytes: BytesMut,
    has_null: bool,
}

impl Grid {
    pub(in crate::postgres) fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        let column = |kind| List { kind, bytes: BytesMut::new(), has_null: false };
        Self { columns: kinds.into_iter().map(column).collect(), rows: 0 }
    }

    pub(in crate::postgres) fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row: one value for each column.
    pub(in crate::postgres) fn push(&mut self, row: &[Cell<'_>]) -> Result<(), Trouble> {
        if row.len() != self.columns.len() {
            return Err(Trouble::Nonsense("a row has another width than its table".to_owned()));
        }
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.has_null |= matches!(cell, Cell::Null);
            put(column.kind, cell, &mut column.bytes)?;
        }
        self.rows += 1;
        Ok(())
    }
}

/// Statements and their values, in order.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Script {
    pub(super) asks: Vec<Ask>,
    oids: Vec<u32>,
    values: Vec<BytesMut>,
}

/// One statement with its values.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) sql: Box<str>,
    oids: Vec<u32>,
    values: Vec<BytesMut>,
    /// Rows it copies in.
    copied: Option<BytesMut>,
}

impl Ask {
    /// Whether it comes again and again, with other values.
    pub(super) fn is_lasting(&self) -> bool {
        !self.values.is_empty() && self.copied.is_none()
    }

    /// Has the server read it, under a name or none.
    pub(super) fn parse(&self, name: &str, out: &mut BytesMut) -> Result<(), Trouble> {
        Ok(frontend::parse(name, &self.sql, self.oids.iter().copied(), out)?)
    }

    /// Has the server do what it read.
    pub(super) fn execute(&self, name: &str, out: &mut BytesMut) -> Result<(), Trouble> {
        bind(name, &self.values, out)?;
        frontend::execute("", 0, out)?;
        if let Some(rows) = &self.copied {
            for piece in rows.chunks(COPY_PIECE_BYTES) {
                frontend::CopyData::new(piece)?.write(out);
            }
            frontend::copy_done(out);
        }
        Ok(())
    }
}

impl Script {
    pub(in crate::postgres) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    /// Statements so far.
    pub(in crate::postgres) fn len(&self) -> usize {
        self.asks.len()
    }

    /// Adds one value to the next statement.
    pub(in crate::postgres) fn with<'a>(
        &mut self,
        kind: Kind,
        value: impl Into<Cell<'a>>,
    ) -> Result<&mut Self, Trouble> {
        let mut bytes = BytesMut::new();
        put(kind, &value.into(), &mut bytes)?;
        self.oids.push(kind.oid());
        self.values.push(bytes);
        Ok(self)
    }

    /// Adds a list of values to the next statement.
    pub(in crate::postgres) fn with_list<'a, T: Into<Cell<'a>>>(
        &mut self,
        kind: Kind,
        values: impl IntoIterator<Item = T>,
    ) -> Result<&mut Self, Trouble> {
        let mut grid = Grid::new([kind]);
        for value in values {
            grid.push(&[value.into()])?;
        }
        self.with_grid(grid)
    }

    /// Adds the columns of rows to the next statement, as one list each.
    pub(in crate::postgres) fn with_grid(&mut self, grid: Grid) -> Result<&mut Self, Trouble> {
        let rows = i32::try_from(grid.rows).map_err(|_| too_much())?;
        for column in grid.columns {
            let mut bytes = BytesMut::with_capacity(column.bytes.len() + 24);
            let length = 12 + if rows == 0 { 0 } else { 8 } + column.bytes.len();
            bytes.put_i32(i32::try_from(length).map_err(|_| too_much())?);
            bytes.put_i32(i32::from(rows > 0));
            bytes.put_i32(i32::from(column.has_null));
            bytes.put_u32(column.kind.oid());
            if rows > 0 {
                bytes.put_i32(rows);
                bytes.put_i32(1);
            }
            bytes.put_slice(&column.bytes);
            self.oids.push(column.kind.list_oid());
            self.values.push(bytes);
        }
        Ok(self)
    }

    /// Adds a statement that takes the values added before it.
    pub(in crate::postgres) fn ask(&mut self, sql: &str) -> Result<&mut Self, Trouble> {
        let (oids, values) = (std::mem::take(&mut self.oids), std::mem::take(&mut self.values));
        self.asks.push(Ask { sql: sql.into(), oids, values, copied: None });
        Ok(self)
    }

    /// Adds rows to be copied into a table by a `copy … from stdin (format binary)`.
    pub(in crate::postgres) fn copy(
        &mut self,
        sql: &str,
        rows: Copied,
    ) -> Result<&mut Self, Trouble> {
        let mut bytes = rows.bytes;
        bytes.put_i16(-1);
        let (oids, values) = (Vec::new(), Vec::new());
        self.asks.push(Ask { sql: sql.into(), oids, values, copied: Some(bytes) });
        Ok(self)
    }
}

/// Bytes of a copy in one message.
const COPY_PIECE_BYTES: usize = 64 << 10;
const COPY_SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Rows to be copied into a table.
#[derive(Debug)]
pub(in crate::postgres) struct Copied {
    kinds: Vec<Kind>,
    bytes: BytesMut,
    rows: usize,
}

impl Copied {
    pub(in crate::postgres) fn new(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self { kinds: kinds.into_iter().collect(), bytes: COPY_SIGNATURE.into(), rows: 0 }
    }

    pub(in crate::postgres) fn len(&self) -> usize {
        self.rows
    }

    /// Adds a row: one value for each column.
    pub(in crate::postgres) fn push(
        &mut self,
        first: &Cell<'_>,
        rest: &[Cell<'_>],
    ) -> Result<(), Trouble> {
        if rest.len() + 1 != self.kinds.len() {
            return Err(Trouble::Nonsense("a row has another width than its table".to_owned()));
        }
        self.bytes.put_i16(i16::try_from(self.kinds.len()).map_err(|_| too_much())?);
        for (kind, cell) in self.kinds.iter().zip(std::iter::once(first).chain(rest)) {
            put(*kind, cell, &mut self.bytes)?;
        }
        self.rows += 1;
        Ok(())
    }
}

/// A bind message in binary formats throughout. The library's own wants to measure each value
/// itself; these are measured already.
fn bind(name: &str, values: &[BytesMut], out: &mut BytesMut) -> Result<(), Trouble> {
    let count = u16::try_from(values.len()).map_err(|_| too_much())?;
    let length = 4 + 2 + name.len() + 4 + 2 + values.iter().map(BytesMut::len).sum::<usize>() + 4;
    out.put_u8(b'B');
    out.put_i32(i32::try_from(length).map_err(|_| too_much())?);
    out.put_u8(0);
    out.put_slice(name.as_bytes());
    out.put_u8(0);
    out.put_slice(&[0, 1, 0, 1]);
    out.put_u16(count);
    values.iter().for_each(|value| out.put_slice(value));
    out.put_slice(&[0, 1, 0, 1]);
    Ok(())
}

/// Writes a value with its length in front.
fn put(kind: Kind, cell: &Cell<'_>, out: &mut BytesMut) -> Result<(), Trouble> {
    match (kind, cell) {
        (_, Cell::Null) => out.put_i32(-1),
        (Kind::I2, Cell::Int(n)) => {
            out.put_i32(2);
            out.put_i16(i16::try_from(*n).map_err(|_| does_not_fit(*n))?);
        }
        (Kind::I4, Cell::Int(n)) => {
            out.put_i32(4);
            out.put_i32(i32::try_from(*n).map_err(|_| does_not_fit(*n))?);
        }
        (Kind::U4, Cell::Int(n)) => {
            out.put_i32(4);
            out.put_u32(u32::try_from(*n).map_err(|_| does_not_fit(*n))?);
        }
        (Kind::I8, Cell::Int(n)) => {
            out.put_i32(8);
            out.put_i64(*n);
        }
        (Kind::Flag, Cell::Flag(yes)) => {
            out.put_i32(1);
            out.put_u8(u8::from(*yes));
        }
        (Kind::Text, Cell::Text(text)) => sized(text.as_bytes(), out)?,
        (Kind::Bytes, Cell::Bytes(bytes)) => sized(bytes, out)?,
        (_, cell) => {
            let what = format!("{cell:?} is put into a column of {}", kind.sql());
            return Err(Trouble::Nonsense(what));
        }
    }
    Ok(())
}

fn sized(bytes: &[u8], out: &mut BytesMut) -> Result<(), Trouble> {
    out.put_i32(i32::try_from(bytes.len()).map_err(|_| too_much())?);
    out.put_slice(bytes);
    Ok(())
}

fn does_not_fit(n: i64) -> Trouble {
    Trouble::Nonsense(format!("{n} does not fit into its column"))
}

fn too_much() -> Trouble {
    Trouble::Nonsense("more rows or bytes than one message can hold".to_owned())
}
