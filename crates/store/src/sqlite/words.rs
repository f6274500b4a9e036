//! Names that repeat stand once in the table `word`; rows hold their numbers.

use std::cell::RefCell;
use std::collections::HashMap;

use armarius_core::text::Name;
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::{Answer, OrFault as _, corrupt};

const FIND: &str = "select id from word where text = ?1";
const READ: &str = "select text from word where id = ?1";
const ADD: &str = "insert into word (text) values (?1)";

/// Words kept in memory; beyond it the memory starts anew.
const WORDS_KEPT_MAX: usize = 200_000;

/// The words of one connection, remembered in memory.
#[derive(Debug, Default)]
pub(super) struct Words {
    known: RefCell<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<Name, i64>,
    names: HashMap<i64, Name>,
    /// Added by a transaction that is not yet committed.
    fresh: Vec<Name>,
}

impl Words {
    /// The number of a word, made if there is none. Only inside a transaction.
    pub(super) fn number(&self, conn: &Connection, name: &Name) -> Answer<i64> {
        if let Some(id) = self.find(conn, name)? {
            return Ok(id);
        }
        conn.prepare_cached(ADD).or_fault()?.execute((name.as_str(),)).or_fault()?;
        let id = conn.last_insert_rowid();
        let mut known = self.known.borrow_mut();
        known.fresh.push(name.clone());
        known.note(id, name);
        Ok(id)
    }

    /// The number of a word, if it has one.
    pub(super) fn find(&self, conn: &Connection, name: &Name) -> Answer<Option<i64>> {
        if let Some(id) = self.known.borrow().ids.get(name) {
            return Ok(Some(*id));
        }
        let mut find = conn.prepare_cached(FIND).or_fault()?;
        let id = find.query_row((name.as_str(),), |row| row.get(0)).optional().or_fault()?;
        if let Some(id) = id {
            self.known.borrow_mut().note(id, name);
        }
        Ok(id)
    }

    /// The word of a number.
    pub(super) fn name(&self, conn: &Connection, id: i64) -> Answer<Name> {
        if let Some(name) = self.known.borrow().names.get(&id) {
            return Ok(name.clone());
        }
        let mut read = conn.prepare_cached(READ).or_fault()?;
        let text: Option<String> = read.query_row((id,), |row| row.get(0)).optional().or_fault()?;
        let text = text.ok_or_else(|| corrupt(format!("table word, row {id}: is missing")))?;
        let name = Name::new(&text).map_err(|why| {
            corrupt(format!("table word, row {id}: {text:?} is no name: {why:?}"))
        })?;
        self.known.borrow_mut().note(id, &name);
        Ok(name)
    }

    /// What was added is durable.
    pub(super) fn committed(&self) {
        self.known.borrow_mut().fresh.clear();
    }

    /// What was added is gone again.
    pub(super) fn rolled_back(&self) {
        let mut known = self.known.borrow_mut();
        while let Some(name) = known.fresh.pop() {
            if let Some(id) = known.ids.remove(&name) {
                known.names.remove(&id);
            }
        }
    }
}

impl Known {
    fn note(&mut self, id: i64, name: &Name) {
        // What is fresh must stay, or a rollback would not know what to forget.
        if self.ids.len() >= WORDS_KEPT_MAX && self.fresh.is_empty() {
            self.ids.clear();
            self.names.clear();
        }
        self.ids.insert(name.clone(), id);
        self.names.insert(id, name.clone());
    }
}
