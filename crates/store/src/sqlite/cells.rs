//! One row as the database returned it, believed only after a check.

use armarius_core::event::{Hash, Outcome};
use armarius_core::ids::{LeaseId, Time};
use armarius_core::task::State;
use armarius_core::text::{Name, Text};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::desk::Desk;
use super::fault::{Answer, OrFault as _, corrupt};

/// The cells of a row. Whatever is not what its column promises is a `Corrupt` that names table,
/// row and column.
pub(super) struct Cells<'r> {
    desk: &'r Desk,
    table: &'static str,
    row: &'r Row<'r>,
}

impl<'r> Cells<'r> {
    pub(super) fn new(desk: &'r Desk, table: &'static str, row: &'r Row<'r>) -> Self {
        Self { desk, table, row }
    }

    /// About how many bytes the whole row has.
    pub(super) fn bytes_len(&self) -> usize {
        let cells = (0..).map_while(|i| self.row.get_ref(i).ok());
        cells.map(|cell| cell.as_bytes().map_or(size_of::<i64>(), <[u8]>::len)).sum()
    }

    /// A number.
    pub(super) fn int(&self, i: usize) -> Answer<i64> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Integer(n) => Ok(n),
            _ => Err(self.wrong(i, "is not a number")),
        }
    }

    /// A number that may be absent.
    pub(super) fn maybe_int(&self, i: usize) -> Answer<Option<i64>> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Integer(n) => Ok(Some(n)),
            ValueRef::Null => Ok(None),
            _ => Err(self.wrong(i, "is not a number")),
        }
    }

    /// A number of a narrower type.
    pub(super) fn small<T: TryFrom<i64>>(&self, i: usize) -> Answer<T> {
        T::try_from(self.int(i)?).map_err(|_| self.wrong(i, "is out of range"))
    }

    /// Yes or no.
    pub(super) fn flag(&self, i: usize) -> Answer<bool> {
        match self.int(i)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(i, "is neither 0 nor 1")),
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
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Text(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| self.wrong(i, "is not UTF-8"))
            }
            _ => Err(self.wrong(i, "is not text")),
        }
    }

    /// Text.
    pub(super) fn text(&self, i: usize) -> Answer<Text> {
        self.str(i).map(Text::from)
    }

    /// Text that may be absent.
    pub(super) fn maybe_text(&self, i: usize) -> Answer<Option<Text>> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Null => Ok(None),
            _ => self.text(i).map(Some),
        }
    }

    /// A name that stands here itself.
    pub(super) fn name(&self, i: usize) -> Answer<Name> {
        Name::new(self.str(i)?).map_err(|_| self.wrong(i, "is no name"))
    }

    /// A name that stands in the table `word`.
    pub(super) fn word(&self, i: usize) -> Answer<Name> {
        self.desk.name(self.int(i)?)
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

    /// Bytes.
    pub(super) fn bytes(&self, i: usize) -> Answer<&'r [u8]> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Blob(bytes) => Ok(bytes),
            _ => Err(self.wrong(i, "is not a blob")),
        }
    }

    /// A hash.
    pub(super) fn hash(&self, i: usize) -> Answer<Hash> {
        self.bytes(i)?.try_into().map_err(|_| self.wrong(i, "does not have 32 bytes"))
    }

    /// A hash that may be absent.
    pub(super) fn maybe_hash(&self, i: usize) -> Answer<Option<Hash>> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Null => Ok(None),
            _ => self.hash(i).map(Some),
        }
    }

    /// The name of a lease.
    pub(super) fn lease(&self, i: usize) -> Answer<LeaseId> {
        let bytes =
            self.bytes(i)?.try_into().map_err(|_| self.wrong(i, "does not have 16 bytes"))?;
        Ok(LeaseId(u128::from_be_bytes(bytes)))
    }

    /// The name of a lease that may be absent.
    pub(super) fn maybe_lease(&self, i: usize) -> Answer<Option<LeaseId>> {
        match self.row.get_ref(i).or_fault()? {
            ValueRef::Null => Ok(None),
            _ => self.lease(i).map(Some),
        }
    }

    /// Complains about a cell.
    pub(super) fn wrong(&self, i: usize, why: &str) -> armarius_engine::seam::StoreError {
        let column = self.row.as_ref().column_name(i).unwrap_or("?").to_owned();
        let show = |i: usize| self.row.get_ref(i).map_or_else(|_| "?".to_owned(), |v| shown(&v));
        let (table, key, value) = (self.table, show(0), show(i));
        corrupt(format!("table {table}, row {key}: {column} {why}: {value}"))
    }
}

fn shown(value: &ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => x.to_string(),
        ValueRef::Text(bytes) => {
            String::from_utf8_lossy(bytes).chars().take(80).collect::<String>()
        }
        ValueRef::Blob(bytes) => {
            bytes.iter().take(16).map(|b| format!("{b:02x}")).collect::<String>()
        }
    }
}
