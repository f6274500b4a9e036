//! Brings a database's schema up to what this program knows: once, whoever comes first.
//!
//! Migrations are numbered and never changed. Each runs in one transaction with the note of its
//! number, under a lock that all servers take.

use armarius_core::event::digest;
use armarius_engine::seam::StoreError;

use super::cells::int_of;
use super::desk::lock_class;
use super::fault::{Answer, corrupt};
use super::pool::Pool;
use super::wire::{Kind, Row, Script, Talk};
use crate::clock::tick;

/// A step of the schema.
struct Migration {
    sql: &'static str,
    /// The number of the oldest program that can go on working beside it, so that servers can be
    /// replaced one after another.
    oldest: usize,
}

/// All migrations, the first being number 1.
const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("schema/0001_start.sql"), oldest: 1 },
    // An older program would plan revisions without knowing of them.
    Migration { sql: include_str!("schema/0002_revisions.sql"), oldest: 2 },
    // An older program keeps output in its own files meanwhile, as it always did.
    Migration { sql: include_str!("schema/0003_output.sql"), oldest: 2 },
    // An older program does not notice that a dump was brought back, as it never did.
    Migration { sql: include_str!("schema/0004_home.sql"), oldest: 2 },
    // An older program goes by the limit that was the only one.
    Migration { sql: include_str!("schema/0005_depth.sql"), oldest: 2 },
];

/// The second half of the lock: no shard has this number.
const LOCK: i64 = -1;

/// What a schema says of itself.
pub(super) struct Standing {
    pub(super) shards: u16,
    pub(super) incarnation: String,
    /// Whether a copy into it was begun and not finished.
    pub(super) unfinished: bool,
    /// A name for whoever opened it this time.
    pub(super) voice: String,
}

/// Runs the migrations the schema has not seen; refuses one that has seen more than we can deal
/// with.
pub(super) fn migrate(pool: &Pool) -> Answer<Standing> {
    let (mut talk, _) = pool.take()?;
    let standing = bring_up(&mut talk, pool);
    if standing.is_err() && !talk.broken {
        talk.say("rollback", tick() + pool.patience.statement).ok();
    }
    pool.give(talk);
    standing
}

fn bring_up(talk: &mut Talk, pool: &Pool) -> Answer<Standing> {
    let schema = &pool.address.schema;
    let until = tick() + pool.patience.statement;
    talk.say("begin", until)?;
    let mut script = Script::default();
    script
        .with(Kind::I4, lock_class(schema))?
        .with(Kind::I4, LOCK)?
        .ask("select pg_advisory_xact_lock($1, $2)")?;
    talk.run(script, until)?;
    let seen = seen(talk, pool)?;
    let known = MIGRATIONS.len();
    if seen > known {
        let oldest: usize =
            meta(talk, "oldest", pool)?.and_then(|n| n.parse().ok()).unwrap_or(seen);
        if oldest > known {
            return Err(StoreError::Unusable(format!(
                "the database has schema {seen}, this program knows {known}; use a newer program"
            )));
        }
    }
    for (i, migration) in MIGRATIONS.iter().enumerate().skip(seen) {
        step(talk, i + 1, migration, pool)?;
    }
    talk.say(&format!("set local search_path to \"{schema}\""), until)?;
    let shards = meta(talk, "shards", pool)?.and_then(|n| n.parse().ok());
    let shards = shards.ok_or_else(|| corrupt("table meta, row shards: is missing"))?;
    let incarnation = meta(talk, "incarnation", pool)?;
    let incarnation =
        incarnation.ok_or_else(|| corrupt("table meta, row incarnation: is missing"))?;
    let unfinished = meta(talk, "copy", pool)?.is_some();
    let voice = random_name(talk, pool)?;
    talk.say("commit", until)?;
    Ok(Standing { shards, incarnation, unfinished, voice })
}

/// The number of the newest migration the schema has seen, 0 when it is not there.
fn seen(talk: &mut Talk, pool: &Pool) -> Answer<usize> {
    let schema = &pool.address.schema;
    let mut script = Script::default();
    script.with(Kind::Text, schema.as_str())?.ask(
        "select count(*), count(*) filter (where tablename = 'meta') from pg_tables \
              where schemaname = $1",
    )?;
    let row = first(talk, script, pool)?;
    let count = |i| row.as_ref().and_then(|r| r.get(i).flatten()).and_then(int_of).unwrap_or(0);
    match (count(0), count(1)) {
        (0, _) => {
            let until = tick() + pool.patience.statement;
            talk.say(&format!("create schema if not exists \"{schema}\""), until)?;
            return Ok(0);
        }
        (_, 1) => {}
        (_, _) => return Err(strange(schema)),
    }
    let until = tick() + pool.patience.statement;
    talk.say(&format!("set local search_path to \"{schema}\""), until)?;
    meta(talk, "schema", pool)?.and_then(|n| n.parse().ok()).ok_or_else(|| strange(schema))
}

fn strange(schema: &str) -> StoreError {
    StoreError::Unusable(format!(
        "the schema {schema} holds tables of another program; name another one by ?schema="
    ))
}

fn meta(talk: &mut Talk, key: &str, pool: &Pool) -> Answer<Option<String>> {
    let mut script = Script::default();
    script.with(Kind::Text, key)?.ask("select value from meta where key = $1")?;
    let row = first(talk, script, pool)?;
    let value = row.as_ref().and_then(|row| row.get(0).flatten());
    Ok(value.map(|v| String::from_utf8_lossy(v).into_owned()))
}

fn first(talk: &mut Talk, script: Script, pool: &Pool) -> Answer<Option<Row>> {
    let replies = talk.run(script, tick() + pool.patience.statement)?;
    Ok(replies.into_iter().next().and_then(|reply| reply.rows.into_iter().next()))
}

fn step(talk: &mut Talk, number: usize, migration: &Migration, pool: &Pool) -> Answer<()> {
    let schema = &pool.address.schema;
    let until = tick() + pool.patience.statement;
    talk.say(&format!("set local search_path to \"{schema}\""), until)?;
    talk.say(migration.sql, until)?;
    let mut notes = vec![("schema", number.to_string()), ("oldest", migration.oldest.to_string())];
    if number == 1 {
        notes.push(("shards", pool.address.shards.to_string()));
        notes.push(("incarnation", random_name(talk, pool)?));
        let last = i64::from(pool.address.shards) - 1;
        let mut script = Script::default();
        script.with(Kind::I4, last)?.ask(
            "insert into shard (shard, system, timeline)
             select n, 0, 0 from generate_series(0, $1) as n",
        )?;
        talk.run(script, until)?;
    }
    for (key, value) in notes {
        let mut script = Script::default();
        script.with(Kind::Text, key)?.with(Kind::Text, value)?.ask(
            "insert into meta (key, value) values ($1, $2)
             on conflict (key) do update set value = excluded.value",
        )?;
        talk.run(script, until)?;
    }
    Ok(())
}

/// A name nobody else has.
fn random_name(talk: &mut Talk, pool: &Pool) -> Answer<String> {
    let mut script = Script::default();
    script.ask("select gen_random_uuid()::text || clock_timestamp()::text")?;
    let row = first(talk, script, pool)?;
    let seed = row.as_ref().and_then(|row| row.get(0).flatten()).unwrap_or_default();
    let hash = digest(&String::from_utf8_lossy(seed));
    Ok(hash.iter().take(16).map(|b| format!("{b:02x}")).collect())
}
