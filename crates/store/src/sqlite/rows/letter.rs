//! Letters and where they go.

use armarius_core::ids::Time;
use armarius_core::rows::{Destination, Letter};
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::sqlite::cells::Cells;
use crate::sqlite::desk::{Desk, Sql};
use crate::sqlite::fault::Answer;

pub(in crate::sqlite) const DESTINATIONS: &str = "select key, next, tries, due_at from destination";
pub(in crate::sqlite) const LETTERS: &str = "select destination, n, body, at from letter";
const DESTINATION: &str = "select key, next, tries, due_at from destination where key = ?1";
const DUE_AFTER: &str = "select key, due_at from destination
    where due_at is not null and (due_at, key) > (?1, ?2) order by due_at, key limit ?3";
const LETTERS_AFTER: &str = "select destination, n, body, at from letter
    where destination = ?1 and n > ?2 order by n limit ?3";

const DESTINATION_SQL: Sql = Sql {
    table: "destination",
    put: "insert into destination (key, next, tries, due_at) values (?1, ?2, ?3, ?4)
          on conflict (key) do update set next = ?2, tries = ?3, due_at = ?4",
    delete: "delete from destination where key = ?1",
};

const LETTER_SQL: Sql = Sql {
    table: "letter",
    put: "insert into letter (destination, n, body, at) values (?1, ?2, ?3, ?4)
          on conflict (destination, n) do update set body = ?3, at = ?4",
    delete: "delete from letter where destination = ?1 and n = ?2",
};

pub(in crate::sqlite) fn write(desk: &Desk, view: &View) -> Answer<()> {
    desk.keep(
        &DESTINATION_SQL,
        &view.destinations,
        |k| Ok((&**k,)),
        |k, d| Ok((&**k, d.next, d.tries, d.due_at.map(|t| t.0))),
    )?;
    desk.keep_list(
        &LETTER_SQL,
        &view.letters,
        |destination, n| Ok((&**destination, *n)),
        |destination, n, letter| Ok((&**destination, *n, &*letter.body, letter.at.0)),
    )
}

pub(in crate::sqlite) fn load_destinations(
    desk: &Desk,
    keys: &[Text],
    view: &mut View,
) -> Answer<()> {
    let sql = ("destination", DESTINATION);
    desk.find(
        sql,
        keys,
        &mut view.destinations,
        |k| Ok(Some((&**k,))),
        |c| Ok(destination_of(c)?.1),
    )
}

pub(in crate::sqlite) fn load_due(
    desk: &Desk,
    (after, n): (Option<&(Time, Text)>, usize),
    view: &mut View,
) -> Answer<()> {
    let (at, key) = after.map_or((i64::MIN, ""), |(at, key)| (at.0, key));
    let params = |limit| (at, key, limit);
    let (rows, all) = desk.stretch(("destination", DUE_AFTER), n, params, |cells| {
        Ok(((cells.time(1)?, cells.text(0)?), ()))
    })?;
    view.due_letters.load((), after.cloned(), rows, all);
    Ok(())
}

pub(in crate::sqlite) fn load_letters(
    desk: &Desk,
    (destination, after, n): (&Text, Option<i64>, usize),
    view: &mut View,
) -> Answer<()> {
    let params = |limit| (&**destination, after.unwrap_or(i64::MIN), limit);
    let (rows, all) = desk.stretch(("letter", LETTERS_AFTER), n, params, |cells| {
        let (_, n, letter) = letter_of(cells)?;
        Ok((n, letter))
    })?;
    view.letters.load(destination.clone(), after, rows, all);
    Ok(())
}

pub(in crate::sqlite) fn destination_of(cells: &Cells<'_>) -> Answer<(Text, Destination)> {
    let destination = Destination {
        next: cells.int(1)?,
        tries: cells.small(2)?,
        due_at: cells.maybe_int(3)?.map(Time),
    };
    Ok((cells.text(0)?, destination))
}

pub(in crate::sqlite) fn letter_of(cells: &Cells<'_>) -> Answer<(Text, i64, Letter)> {
    let letter = Letter { body: cells.text(2)?, at: cells.time(3)? };
    Ok((cells.text(0)?, cells.int(1)?, letter))
}
