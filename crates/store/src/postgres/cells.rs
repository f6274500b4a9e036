//! One row as the database returned it, believed only after a check.

use armarius_core::event::{Hash, Outcome};
use armarius_core::ids::{LeaseId, Time};
use armarius_core::task::State;
use armarius_core::text::{Name, Text};
use armarius_engine::seam::StoreError;

use super::fault::{Answer, corrupt};
use super::table::Table;
use super::wire::Row;
use super::words::Words;

/// The cells of a row. Whatever is not what its column promises is a `Corrupt` that names table,
/// row and column.
#[derive(Clone, Copy)]
pub(super) struct Cells<'r> {
    words: &'r Words,
    table: &'static Table,
    row: &'r Row,
    /// Where the table's columns begin.
    at: usize,
}

impl<'r> Cells<'r> {
    pub(super) fn new(words: &'r Words, table: &'static Table, row: &'r Row) -> Self {
        Self { words, table, row, at: 0 }
    }

    /// The columns of another table, behind those of this one.
    pub(super) fn behind(self, table: &'static Table) -> Self {
        Self { at: self.at + self.table.columns.len(), table, ..self }
    }

    /// Bytes of the whole row.
    pub(super) fn bytes_len(&self) -> usize {
        self.row.bytes_len()
    }

    fn get(&self, i: usize) -> Answer<Option<&'r [u8]>> {
        self.row.get(self.at + i).ok_or_else(|| self.wrong(i, "is missing"))
    }

    /// A number.
    pub(super) fn int(&self, i: usize) -> Answer<i64> {
        self.maybe_int(i)?.ok_or_else(|| self.wrong(i, "is null"))
    }

    /// A number that may be absent.
    pub(super) fn maybe_int(&self, i: usize) -> Answer<Option<i64>> {
        self.get(i)?
            .map(|bytes| int_of(bytes).ok_or_else(|| self.wrong(i, "is not a number")))
            .transpose()
    }

    /// A number of a narrower type.
    pub(super) fn small<T: TryFrom<i64>>(&self, i: usize) -> Answer<T> {
        T::try_from(self.int(i)?).map_err(|_| self.wrong(i, "is out of range"))
    }

    /// A count, which may have wrapped around.
    pub(super) fn count(&self, i: usize) -> Answer<u32> {
        self.small::<i32>(i).map(i32::cast_unsigned)
    }

    /// Yes or no.
    pub(super) fn flag(&self, i: usize) -> Answer<bool> {
        match self.get(i)? {
            Some([0]) => Ok(false),
            Some([1]) => Ok(true),
            _ => Err(self.wrong(i, "is neither true nor false")),
        }
    }

    /// A moment.
    pub(super) fn time(&self, i: usize) -> Answer<Time> {
        self.int(i).map(Time)
    }

    /// One of a list of choices, by position.
    pub(super) fn one_of<T: Copy>(&self, i: usize, choices: &[T]) -> Answer<T> {
        let choice = usize::try_from(self.int(i)?).ok().and_then(|at| choices.get(at).copied());
        choice.ok_or_else(|| self.wrong(i, "is none of the known choices"))
    }

    /// A state.
    pub(super) fn state(&self, i: usize) -> Answer<State> {
        self.one_of(i, &State::ALL)
    }

    /// An outcome that may be absent.
    pub(super) fn maybe_outcome(&self, i: usize) -> Answer<Option<Outcome>> {
        self.maybe_int(i)?.map(|_| self.outcome(i)).transpose()
    }

    /// An outcome.
    pub(super) fn outcome(&self, i: usize) -> Answer<Outcome> {
        self.one_of(i, &[Outcome::Success, Outcome::Failure])
    }

    /// Text, borrowed.
    pub(super) fn str(&self, i: usize) -> Answer<&'r str> {
        self.maybe_str(i)?.ok_or_else(|| self.wrong(i, "is null"))
    }

    fn maybe_str(&self, i: usize) -> Answer<Option<&'r str>> {
        let text = |bytes| std::str::from_utf8(bytes).map_err(|_| self.wrong(i, "is not UTF-8"));
        self.get(i)?.map(text).transpose()
    }

    /// Text.
    pub(super) fn text(&self, i: usize) -> Answer<Text> {
        self.str(i).map(Text::from)
    }

    /// Text that may be absent.
    pub(super) fn maybe_text(&self, i: usize) -> Answer<Option<Text>> {
        Ok(self.maybe_str(i)?.map(Text::from))
    }

    /// A name that stands here itself.
    pub(super) fn name(&self, i: usize) -> Answer<Name> {
        Name::new(self.str(i)?).map_err(|_| self.wrong(i, "is no name"))
    }

    /// A name that stands in the table `word`.
    pub(super) fn word(&self, i: usize) -> Answer<Name> {
        let id = self.small(i)?;
        let name = self.words.name(id);
        name.ok_or_else(|| corrupt(format!("table word, row {id}: is missing")))
    }

    /// A JSON array of names; '' is the empty one.
    pub(super) fn names(&self, i: usize) -> Answer<Vec<Name>> {
        let name =
            |text: &Text| Name::new(text).map_err(|_| self.wrong(i, "holds what is no name"));
        self.texts(i)?.iter().map(name).collect()
    }

    /// A JSON array of texts; '' is the empty one.
    pub(super) fn texts(&self, i: usize) -> Answer<Vec<Text>> {
        let text = self.str(i)?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let list: Vec<String> =
            serde_json::from_str(text).map_err(|_| self.wrong(i, "is no JSON array of texts"))?;
        Ok(list.into_iter().map(Text::from).collect())
    }

    /// A JSON array of numbers; '' is the empty one.
    pub(super) fn numbers(&self, i: usize) -> Answer<Vec<i64>> {
        let text = self.str(i)?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_str(text).map_err(|_| self.wrong(i, "is no JSON array of numbers"))
    }

    /// A list of numbers, each of which may be absent.
    pub(super) fn list(&self, i: usize) -> Answer<Vec<Option<i64>>> {
        let bytes = self.bytes(i)?;
        list_of(bytes).ok_or_else(|| self.wrong(i, "is no list of numbers"))
    }

    /// Bytes.
    pub(super) fn bytes(&self, i: usize) -> Answer<&'r [u8]> {
        self.get(i)?.ok_or_else(|| self.wrong(i, "is null"))
    }

    /// A hash.
    pub(super) fn hash(&self, i: usize) -> Answer<Hash> {
        self.bytes(i)?.try_into().map_err(|_| self.wrong(i, "does not have 32 bytes"))
    }

    /// A hash that may be absent.
    pub(super) fn maybe_hash(&self, i: usize) -> Answer<Option<Hash>> {
        self.get(i)?.map(|_| self.hash(i)).transpose()
    }

    /// The name of a lease.
    pub(super) fn lease(&self, i: usize) -> Answer<LeaseId> {
        let bytes =
            self.bytes(i)?.try_into().map_err(|_| self.wrong(i, "does not have 16 bytes"))?;
        Ok(LeaseId(u128::from_be_bytes(bytes)))
    }

    /// The name of a lease that may be absent.
    pub(super) fn maybe_lease(&self, i: usize) -> Answer<Option<LeaseId>> {
        self.get(i)?.map(|_| self.lease(i)).transpose()
    }

    /// Complains about a cell.
    pub(super) fn wrong(&self, i: usize, why: &str) -> StoreError {
        let column = self.table.columns.get(i).map_or("?", |c| c.0);
        let (table, key, value) = (self.table.name, self.shown(0), self.shown(i));
        corrupt(format!("table {table}, row {key}: {column} {why}: {value}"))
    }

    fn shown(&self, i: usize) -> String {
        let number = self.table.columns.get(i).is_some_and(|c| {
            use super::wire::Kind;
            matches!(c.1, Kind::I2 | Kind::I4 | Kind::U4 | Kind::I8)
        });
        match self.row.get(self.at + i) {
            None => "?".to_owned(),
            Some(None) => "null".to_owned(),
            Some(Some(bytes)) => match int_of(bytes).filter(|_| number) {
                Some(n) => n.to_string(),
                None => String::from_utf8_lossy(bytes).chars().take(80).collect(),
            },
        }
    }
}

/// A number of any width.
pub(super) fn int_of(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => bytes.try_into().ok().map(|b| i16::from_be_bytes(b).into()),
        4 => bytes.try_into().ok().map(|b| i32::from_be_bytes(b).into()),
        8 => bytes.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    }
}

/// A list of numbers as it comes: dimensions, whether there are nulls, type, then each with its
/// length.
fn list_of(bytes: &[u8]) -> Option<Vec<Option<i64>>> {
    let word = |at: usize| bytes.get(at..at + 4).and_then(int_of);
    if word(0)? == 0 {
        return Some(Vec::new());
    }
    let count = usize::try_from(word(12)?).ok()?;
    let mut list = Vec::with_capacity(count.min(64));
    let mut at = 20;
    for _ in 0..count {
        let length = word(at)?;
        at += 4;
        if length < 0 {
            list.push(None);
            continue;
        }
        let length = usize::try_from(length).ok()?;
        list.push(Some(int_of(bytes.get(at..at + length)?)?));
        at += length;
    }
    Some(list)
}
