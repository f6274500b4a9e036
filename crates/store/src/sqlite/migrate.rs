//! Brings a file's schema up to what this program knows.
//!
//! Migrations are numbered and never changed. Each runs in one transaction with the note of its
//! number, so that one that is interrupted has not happened.

use armarius_engine::seam::StoreError;

use super::desk::Desk;
use super::fault::{Answer, OrFault as _};

/// All migrations, the first being number 1.
const MIGRATIONS: [&str; 6] = [
    include_str!("schema/0001_start.sql"),
    include_str!("schema/0002_way.sql"),
    include_str!("schema/0003_keys.sql"),
    include_str!("schema/0004_robots.sql"),
    include_str!("schema/0005_revisions.sql"),
    include_str!("schema/0006_depth.sql"),
];

/// Marks the file as ours: the letters `ARMA`.
const APPLICATION_ID: i32 = 0x4152_4d41;

/// Refuses a file whose schema is not the one this program knows, without changing it.
pub(super) fn check(desk: &Desk) -> Answer<()> {
    let (seen, known) = (version(desk)?, MIGRATIONS.len());
    if seen == known {
        return Ok(());
    }
    Err(StoreError::Unusable(format!(
        "the file has schema {seen}, this program knows {known}; use the program that wrote it, or \
         start a server on it once to bring it up to date"
    )))
}

/// Runs the migrations the file has not seen; refuses a file that has seen more than we know.
pub(super) fn migrate(desk: &Desk) -> Answer<()> {
    let seen = version(desk)?;
    let known = MIGRATIONS.len();
    if seen > known {
        return Err(StoreError::Unusable(format!(
            "the file has schema {seen}, this program knows {known}; use a newer program"
        )));
    }
    for (i, sql) in MIGRATIONS.iter().enumerate().skip(seen) {
        step(desk, i + 1, sql)?;
    }
    Ok(())
}

fn step(desk: &Desk, number: usize, sql: &str) -> Answer<()> {
    let conn = &desk.conn;
    let all = conn.unchecked_transaction().or_fault()?;
    conn.execute_batch(sql).or_fault()?;
    if number == 1 {
        conn.pragma_update(None, "application_id", APPLICATION_ID).or_fault()?;
        desk.run(
            "insert into meta (key, value) values ('incarnation', lower(hex(randomblob(16))))",
            (),
        )?;
    }
    desk.run(
        "insert or replace into meta (key, value) values ('schema', ?1)",
        (number.to_string(),),
    )?;
    all.commit().or_fault()
}

/// The number of the newest migration the file has seen, 0 for an empty file.
fn version(desk: &Desk) -> Answer<usize> {
    let count = |sql| desk.first("sqlite_schema", sql, (), |cells| cells.int(0));
    if count("select count(*) from sqlite_schema")? == Some(0) {
        return Ok(0);
    }
    if count("select count(*) from sqlite_schema where name = 'meta'")? != Some(1) {
        return Err(StoreError::Unusable("the file is a database of another program".to_owned()));
    }
    let sql = "select value from meta where key = 'schema'";
    let seen = desk.first("meta", sql, (), |cells| {
        cells.str(0)?.parse().map_err(|_| cells.wrong(0, "is not a number"))
    })?;
    seen.ok_or_else(|| StoreError::Unusable("the file is a database of another program".to_owned()))
}
