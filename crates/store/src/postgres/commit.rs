//! Writes everything a view has changed: one exchange for the rows, one for the end.

use armarius_core::event::Commit;
use armarius_core::view::View;

use super::Identity;
use super::desk::Desk;
use super::fault::{Answer, corrupt};
use super::known::Known;
use super::pen::{Owed, Pen};
use super::rows::{
    archive, batch, collection, edge, errand, event, flow, hold, idem, item, key, lease, letter,
    line, manifest, round, schedule, task,
};
use super::table::{Fresh, Table};
use super::wire::{Kind, Script};
use super::words;

static WORD: Table = Table::new("word", 1, 0, &[("id", Kind::I4), ("text", Kind::Text)]);
const STAND: &str = "update shard set system = $2, timeline = $3, home = tableoid::bigint
    where shard = $1";
// The end of a transaction must not be cut short: with synchronous replication a commit that is
// cancelled while it waits is there, but not yet safe.
const NO_HURRY: &str = "select set_config('statement_timeout', '0', true)";

/// Writes the rows, the events and the commit that seals them. Tables marked as derived follow from
/// these by the indexes of the schema.
pub(super) fn write(
    desk: &mut Desk,
    known: &Known,
    view: &View,
    commit: &Commit,
    stand: Option<Identity>,
) -> Answer<()> {
    let (shard, added) = learn(desk, view)?;
    let mut pen = Pen::new(shard, &desk.words);
    WORD.copy(&mut pen.script, added)?;
    rows(&mut pen, known, view, commit)?;
    if let Some(Identity { system, timeline, home: _ }) = stand {
        pen.script
            .with(Kind::I2, i64::from(shard))?
            .with(Kind::I8, system)?
            .with(Kind::I8, timeline)?
            .ask(STAND)?;
    }
    pen.script.ask(NO_HURRY)?;
    let Pen { script, owed, .. } = pen;
    settle(desk, shard, script, owed)
}

/// Writes rows and events that are copied from another store, without a commit of their own.
pub(super) fn import(desk: &mut Desk, view: &View) -> Answer<()> {
    let (shard, added) = learn(desk, view)?;
    let mut pen = Pen::new(shard, &desk.words);
    WORD.copy(&mut pen.script, added)?;
    only_rows(&mut pen, &Known::default(), view, 0)?;
    event::write_events(&mut pen, view)?;
    let Pen { script, owed, .. } = pen;
    settle(desk, shard, script, owed)
}

/// Makes sure that every name has a number; the new ones are still to be written.
fn learn(desk: &mut Desk, view: &View) -> Answer<(u16, Fresh)> {
    let new = words::unknown(&desk.words, view);
    let highest = desk.learn(new.iter().collect())?;
    let new: Vec<_> = new.into_iter().filter(|name| !desk.words.knows(name)).collect();
    let shard = desk.shards.first().copied().unwrap_or_default();
    let mut added = WORD.fresh();
    for (id, name) in desk.words.number(shard, highest, &new)? {
        added.push(shard, &[(*id).into(), (&**name).into()])?;
    }
    Ok((shard, added))
}

/// Runs the statements, and adds what was to be overwritten and was not there.
fn settle(desk: &mut Desk, shard: u16, script: Script, owed: Vec<Owed>) -> Answer<()> {
    let replies = desk.run(script)?;
    let mut rest = Script::default();
    for debt in owed {
        let met = replies.get(debt.ask).map(|r| r.count);
        let met = met.ok_or_else(|| corrupt("a statement without an answer"))?;
        if met < debt.rows.len() as u64 {
            debt.table.add_missing_fixed(&mut rest, shard, debt.rows)?;
        }
    }
    desk.run(rest).map(drop)
}

fn rows(pen: &mut Pen<'_>, known: &Known, view: &View, commit: &Commit) -> Answer<()> {
    only_rows(pen, known, view, commit.n)?;
    event::write(pen, view, commit)
}

fn only_rows(pen: &mut Pen<'_>, known: &Known, view: &View, rev: i64) -> Answer<()> {
    collection::write(pen, view, known, rev)?;
    flow::write(pen, view, known, rev)?;
    hold::write(pen, view)?;
    schedule::write(pen, view)?;
    archive::write(pen, view)?;
    key::write(pen, view)?;
    item::write(pen, view, known.items)?;
    task::write(pen, view, (known.bodies, known.tasks))?;
    round::write(pen, view)?;
    line::write(pen, view, known.tasks)?;
    edge::write(pen, view)?;
    lease::write(pen, view)?;
    batch::write(pen, view, rev)?;
    errand::write(pen, view)?;
    letter::write(pen, view)?;
    idem::write(pen, view)?;
    manifest::write(pen, view)
}
