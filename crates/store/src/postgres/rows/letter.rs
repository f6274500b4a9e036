//! Letters and where they go.

use armarius_core::ids::Time;
use armarius_core::rows::{Destination, Letter};
use armarius_core::text::Text;
use armarius_core::view::View;

use crate::postgres::cells::Cells;
use crate::postgres::fault::Answer;
use crate::postgres::load::{Stretches, Wishes};
use crate::postgres::pen::Pen;
use crate::postgres::table::Table;
use crate::postgres::wire::Kind;

pub(in crate::postgres) static DESTINATION: Table = Table::new(
    "destination",
    1,
    0,
    &[("key", Kind::Text), ("next", Kind::I8), ("tries", Kind::I8), ("due_at", Kind::I8)],
);

pub(in crate::postgres) static LETTER: Table = Table::new(
    "letter",
    2,
    0,
    &[("destination", Kind::Text), ("n", Kind::I8), ("body", Kind::Text), ("at", Kind::I8)],
);

pub(in crate::postgres) fn write(pen: &mut Pen<'_>, view: &View) -> Answer<()> {
    pen.keep(
        &DESTINATION,
        &view.destinations,
        |k| Ok([(&**k).into()]),
        |k, d| {
            let due = d.due_at.map(|t| t.0);
            Ok([(&**k).into(), d.next.into(), d.tries.into(), due.into()])
        },
    )?;
    pen.keep_list(
        &LETTER,
        &view.letters,
        |destination, n| Ok([(&**destination).into(), (*n).into()]),
        |destination, n, letter| {
            let (body, at) = (&*letter.body, letter.at.0);
            Ok([(&**destination).into(), (*n).into(), body.into(), at.into()])
        },
    )
}

pub(in crate::postgres) fn wish_destinations<'k>(
    keys: &'k [Text],
    wishes: &mut Wishes<'k>,
) -> Answer<()> {
    wishes.find(
        (DESTINATION.find(), &DESTINATION, &[]),
        keys,
        |k, grid| Ok(grid.push(&[(&**k).into()])?),
        DESTINATION.key_grid(),
        |v| &mut v.destinations,
        destination_of,
    )
}

pub(in crate::postgres) fn wish_due(
    keys: Stretches<(), (Time, Text)>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    let sql = DESTINATION
        .stretch(&[], &["due_at", "key"])
        .replace("where t.shard", "where t.due_at is not null and t.shard");
    wishes.stretch(
        (&sql, &DESTINATION, &[]),
        keys,
        |(), after| {
            let (at, key) = after.map_or((i64::MIN, ""), |(at, key)| (at.0, key));
            vec![at.into(), key.into()]
        },
        &DESTINATION.kinds(&["due_at", "key"]),
        |v| &mut v.due_letters,
        |cells| Ok(((cells.time(3)?, cells.text(0)?), ())),
    )
}

pub(in crate::postgres) fn wish_letters(
    keys: Stretches<Text, i64>,
    wishes: &mut Wishes<'_>,
) -> Answer<()> {
    wishes.stretch(
        (&LETTER.stretch(&["destination"], &["n"]), &LETTER, &[]),
        keys,
        |owner, after| vec![(&**owner).into(), after.copied().unwrap_or(i64::MIN).into()],
        &LETTER.kinds(&["destination", "n"]),
        |v| &mut v.letters,
        |cells| letter_of(cells).map(|(_, n, letter)| (n, letter)),
    )
}

pub(in crate::postgres) fn destination_of(cells: &Cells<'_>) -> Answer<(Text, Destination)> {
    let destination = Destination {
        next: cells.int(1)?,
        tries: cells.small(2)?,
        due_at: cells.maybe_int(3)?.map(Time),
    };
    Ok((cells.text(0)?, destination))
}

pub(in crate::postgres) fn letter_of(cells: &Cells<'_>) -> Answer<(Text, i64, Letter)> {
    let letter = Letter { body: cells.text(2)?, at: cells.time(3)? };
    Ok((cells.text(0)?, cells.int(1)?, letter))
}
