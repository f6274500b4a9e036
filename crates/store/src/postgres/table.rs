//! The columns of a table, and the few statements every table has.
//!
//! The statements stand below, written once; the columns of a table are filled in when it is first
//! used. Each moves any number of rows: values come as one list per column. `$1` is the shard, or
//! the list of shards where reading may span several.
//!
//! Rows are looked up one by one, by their whole key, whatever the planner believes about the size
//! of a table that was empty a minute ago: a `limit` keeps it from turning the question around.

use std::sync::OnceLock;

use super::wire::{Cell, Grid, Kind, Script, Trouble, script::Copied};

/// A table as the store writes and reads it. `shard` stands in front of all columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// So many of the first columns identify a row.
    pub(super) key: usize,
    /// So many columns behind the key never change; a row that would change them is refused.
    pub(super) fixed: usize,
    pub(super) columns: &'static [(&'static str, Kind)],
    statements: OnceLock<Statements>,
}

/// The statements of one table.
#[derive(Debug)]
struct Statements {
    find: String,
    all: String,
    walk: String,
    delete: String,
    update: String,
    add: String,
    add_fixed: String,
    change: String,
    put: String,
    copy: String,
}

const FIND: &str = "select t.* from unnest($1::smallint[]) as s(shard)
    cross join unnest({key lists}) as k({keys})
    cross join lateral (select {t columns} from {table} as t
                        where t.shard = s.shard and {t keys = k} limit 1) as t";
const ALL: &str = "select {t columns} from {table} as t
    where t.shard = any($1::smallint[]) order by {t keys}";
const WALK: &str = "select {t columns} from {table} as t
    where t.shard = ($1::smallint[])[1] order by {t keys}";
const DELETE: &str = "delete from {table} as t using (
        select f.ctid as place from unnest({key lists}) as k({keys})
        cross join lateral (select t.ctid from {table} as t
                            where t.shard = $1 and {t keys = k} limit 1) as f) as f
    where t.ctid = f.place";
const UPDATE: &str = "update {table} as t set {set f} from (
        select f.ctid as place, k.* from unnest({lists}) as k({columns})
        cross join lateral (select t.ctid from {table} as t
                            where t.shard = $1 and {t identity = k} limit 1) as f) as f
    where t.ctid = f.place";
const ADD: &str = "insert into {table} (shard, {columns})
    select $1, {k columns} from unnest({lists}) as k({columns})
    where (select true from {table} as t where t.shard = $1 and {t keys = k} limit 1) is null";
const ADD_FIXED: &str = "insert into {table} (shard, {columns})
    select $1, {k columns} from unnest({lists}) as k({columns})
    where (select true from {table} as t where t.shard = $1 and {t identity = k} limit 1) is null";
const CHANGE: &str = "update {table} as t set {set f} from (
        select f.ctid as place, k.* from unnest({lists}) as k({columns})
        cross join lateral (select t.ctid from {table} as t
                            where t.shard = $1 and {t keys = k} limit 1) as f) as f
    where t.ctid = f.place and ({t rest}) is distinct from ({f rest})";
const PUT: &str = "insert into {table} (shard, {columns})
    select $1, {k columns} from unnest({lists}) as k({columns})
    on conflict (shard, {keys}) do {then}";
const COPY: &str = "copy {table} (shard, {columns}) from stdin (format binary)";
const STRETCH: &str = "select t.*, k.nth
    from unnest({lists}, {last}::bigint[]) with ordinality as k({columns}, lim, nth)
    cross join unnest($1::smallint[]) as s(shard)
    cross join lateral (select {t all} from {table} as t
                        where t.shard = s.shard{t owner = k} and ({t order}) > ({k order})
                        order by {t order} limit k.lim) as t";

/// Whether a statement could be written down.
pub(super) type Sent = Result<(), Trouble>;

type Column = (&'static str, Kind);

impl Table {
    pub(super) const fn new(
        name: &'static str,
        key: usize,
        fixed: usize,
        columns: &'static [Column],
    ) -> Self {
        Self { name, key, fixed, columns, statements: OnceLock::new() }
    }

    pub(super) fn grid(&self) -> Grid {
        Grid::new(self.columns.iter().map(|c| c.1))
    }

    pub(super) fn key_grid(&self) -> Grid {
        Grid::new(self.keys().iter().map(|c| c.1))
    }

    /// Rows by their keys, in whatever order.
    pub(super) fn find(&self) -> &str {
        &self.statements().find
    }

    /// Every row of the shards, in order of the key.
    pub(super) fn all(&self) -> &str {
        &self.statements().all
    }

    /// Every row of the first shard, in order of the key, as the index gives them: the first comes
    /// at once, however many there are.
    pub(super) fn walk(&self) -> &str {
        &self.statements().walk
    }

    /// Entries behind a place, so many each: those whose `owner` columns are as given, in the order
    /// of the `order` columns. The number of the stretch stands behind the columns.
    pub(super) fn stretch(&self, owner: &[&'static str], order: &[&'static str]) -> String {
        let (owner, order) = (self.pick(owner), self.pick(order));
        let given: Vec<Column> = owner.iter().chain(&order).copied().collect();
        let same: String = owner.iter().map(|c| format!(" and t.{0} = k.{0}", quoted(c))).collect();
        STRETCH
            .replace("{table}", &format!("\"{}\"", self.name))
            .replace("{lists}", &lists(&given))
            .replace("{columns}", &named("", &given))
            .replace("{last}", &format!("${}", given.len() + 2))
            .replace("{t all}", &named("t.", self.columns))
            .replace("{t owner = k}", &same)
            .replace("{t order}", &named("t.", &order))
            .replace("{k order}", &named("k.", &order))
    }

    /// The types of these columns.
    pub(super) fn kinds(&self, columns: &[&'static str]) -> Vec<Kind> {
        self.pick(columns).into_iter().map(|c| c.1).collect()
    }

    /// Removes rows by their keys.
    pub(super) fn delete(&self, script: &mut Script, shard: u16, keys: Grid) -> Sent {
        self.send(&self.statements().delete, script, shard, keys)
    }

    /// Overwrites rows that are there with their fixed columns; how many tells which were not.
    pub(super) fn update(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        self.send(&self.statements().update, script, shard, rows)
    }

    /// Adds those rows that are not there.
    pub(super) fn add_missing(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        self.send(&self.statements().add, script, shard, rows)
    }

    /// Adds those rows that are not there with their fixed columns; one that is there with others
    /// is met by its key, and the server complains.
    pub(super) fn add_missing_fixed(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        self.send(&self.statements().add_fixed, script, shard, rows)
    }

    /// Adds rows, or overwrites those that are there and different: a row that stays as it is is
    /// not touched.
    pub(super) fn put_quietly(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        self.send(&self.statements().change, script, shard, rows.clone())?;
        self.add_missing(script, shard, rows)
    }

    /// Adds rows, or overwrites those that are there.
    pub(super) fn put(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        self.send(&self.statements().put, script, shard, rows)
    }

    fn send(&self, sql: &str, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        if rows.len() > 0 {
            script.with(Kind::I2, i64::from(shard))?.with_grid(rows)?.ask(sql)?;
        }
        Ok(())
    }

    /// Rows that cannot be there yet.
    pub(super) fn fresh(&self) -> Fresh {
        let kinds = std::iter::once(Kind::I2).chain(self.columns.iter().map(|c| c.1));
        Fresh { rows: Copied::new(kinds) }
    }

    /// Adds rows that cannot be there yet.
    pub(super) fn copy(&self, script: &mut Script, fresh: Fresh) -> Sent {
        if fresh.rows.len() > 0 {
            script.copy(&self.statements().copy, fresh.rows)?;
        }
        Ok(())
    }

    fn keys(&self) -> &'static [Column] {
        self.columns.get(..self.key).unwrap_or_default()
    }

    fn pick(&self, columns: &[&'static str]) -> Vec<Column> {
        let find = |name: &&str| self.columns.iter().find(|c| c.0 == *name).copied();
        columns.iter().filter_map(find).collect()
    }

    fn statements(&self) -> &Statements {
        self.statements.get_or_init(|| {
            let made = |statement| self.filled_in(statement);
            Statements {
                find: made(FIND),
                all: made(ALL),
                walk: made(WALK),
                delete: made(DELETE),
                update: made(UPDATE),
                add: made(ADD),
                add_fixed: made(ADD_FIXED),
                change: made(CHANGE),
                put: made(PUT),
                copy: made(COPY),
            }
        })
    }

    fn filled_in(&self, statement: &str) -> String {
        let (columns, keys) = (self.columns, self.keys());
        let identity = columns.get(..self.key + self.fixed).unwrap_or_default();
        let rest = columns.get(self.key + self.fixed..).unwrap_or_default();
        let set = |from| each(rest, ", ", |c| format!("{0} = {from}{0}", quoted(c)));
        let then = match rest {
            [] => "nothing".to_owned(),
            [..] => "update set ".to_owned() + &set("excluded."),
        };
        statement
            .replace("{table}", &format!("\"{}\"", self.name))
            .replace("{columns}", &named("", columns))
            .replace("{t columns}", &named("t.", columns))
            .replace("{k columns}", &named("k.", columns))
            .replace("{lists}", &lists(columns))
            .replace("{keys}", &named("", keys))
            .replace("{t keys}", &named("t.", keys))
            .replace("{key lists}", &lists(keys))
            .replace("{t keys = k}", &same(keys))
            .replace("{t identity = k}", &same(identity))
            .replace("{t rest}", &named("t.", rest))
            .replace("{f rest}", &named("f.", rest))
            .replace("{set f}", &set("f."))
            .replace("{then}", &then)
    }
}

/// Rows that cannot be there yet.
#[derive(Debug)]
pub(super) struct Fresh {
    rows: Copied,
}

impl Fresh {
    pub(super) fn push(&mut self, shard: u16, row: &[Cell<'_>]) -> Sent {
        self.rows.push(&Cell::Int(shard.into()), row)
    }
}

/// `$2::bigint[], $3::text[]`
fn lists(columns: &[Column]) -> String {
    let mut n = 1;
    each(columns, ", ", |c| {
        n += 1;
        format!("${n}::{}[]", c.1.sql())
    })
}

/// `t."a", t."b"`
fn named(of: &str, columns: &[Column]) -> String {
    each(columns, ", ", |c| format!("{of}{}", quoted(c)))
}

/// `t."a" = k."a" and t."b" = k."b"`
fn same(columns: &[Column]) -> String {
    each(columns, " and ", |c| format!("t.{0} = k.{0}", quoted(c)))
}

fn quoted(column: &Column) -> String {
    format!("\"{}\"", column.0)
}

fn each(columns: &[Column], between: &str, one: impl FnMut(&Column) -> String) -> String {
    columns.iter().map(one).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_filled_in() {
        static PAGE: Table =
            Table::new("page", 1, 1, &[("id", Kind::I8), ("name", Kind::Text), ("n", Kind::I4)]);
        assert_eq!(
            PAGE.statements().copy,
            "copy \"page\" (shard, \"id\", \"name\", \"n\") from \
             stdin (format binary)"
        );
        let statements = PAGE.statements();
        let all = format!("{statements:?}{}", PAGE.stretch(&["name"], &["n", "id"]));
        assert!(!all.contains('{') || all.starts_with("Statements {"), "{all}");
        assert!(statements.update.contains("t.\"id\" = k.\"id\" and t.\"name\" = k.\"name\""));
        assert!(statements.put.ends_with("do update set \"n\" = excluded.\"n\""));
    }
}
