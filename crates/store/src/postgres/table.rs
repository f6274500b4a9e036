//! The columns of a table, and the few statements that follow from them.
//!
//! Each is made of lists: one statement moves any number of rows. `$1` is always the shard, or the
//! list of shards where reading may span several.

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
}

impl Table {
    fn keys(&self) -> &'static [(&'static str, Kind)] {
        self.columns.get(..self.key).unwrap_or_default()
    }

    fn rest(&self) -> &'static [(&'static str, Kind)] {
        self.columns.get(self.key + self.fixed..).unwrap_or_default()
    }

    pub(super) fn grid(&self) -> Grid {
        Grid::new(self.columns.iter().map(|c| c.1))
    }

    pub(super) fn key_grid(&self) -> Grid {
        Grid::new(self.keys().iter().map(|c| c.1))
    }

    /// `t.a, t.b`
    pub(super) fn select(&self) -> String {
        joined(self.columns, ", ", |c| format!("t.{}", quoted(c)))
    }

    /// Rows by their keys, in whatever order.
    pub(super) fn find(&self) -> String {
        let (select, name, keys) = (self.select(), self.name, self.keys());
        let (lists, names) = (lists(keys, 2), names(keys));
        let same = same(keys, "t", "k");
        format!(
            "select {select} from unnest($1::smallint[]) as s(shard) cross join unnest({lists}) \
             as k({names}) join \"{name}\" as t on t.shard = s.shard and {same}"
        )
    }

    /// Entries behind a place, `limit` each: those whose `owner` columns are as given, in the order
    /// of the `order` columns. The number of the stretch stands behind the columns.
    pub(super) fn stretch(&self, owner: &[&'static str], order: &[&'static str]) -> String {
        let (select, name) = (self.select(), self.name);
        let (owner, order) = (self.pick(owner), self.pick(order));
        let given: Vec<_> = owner.iter().chain(&order).copied().collect();
        let (lists, names, last) = (lists(&given, 2), names(&given), given.len() + 2);
        let same: String = owner.iter().map(|c| format!(" and t.{0} = k.{0}", quoted(c))).collect();
        let mine = joined(&order, ", ", |c| format!("t.{}", quoted(c)));
        let from = joined(&order, ", ", |c| format!("k.{}", quoted(c)));
        format!(
            "select {select}, k.nth from unnest({lists}, ${last}::bigint[]) with ordinality \
             as k({names}, lim, nth) cross join unnest($1::smallint[]) as s(shard) cross join lateral \
             (select t.* from \"{name}\" as t where t.shard = s.shard{same} \
             and ({mine}) > ({from}) order by {mine} limit k.lim) as t"
        )
    }

    /// The types of these columns.
    pub(super) fn kinds(&self, columns: &[&'static str]) -> Vec<Kind> {
        self.pick(columns).into_iter().map(|c| c.1).collect()
    }

    fn pick(&self, columns: &[&'static str]) -> Vec<(&'static str, Kind)> {
        let find = |name: &&str| self.columns.iter().find(|c| c.0 == *name).copied();
        columns.iter().filter_map(find).collect()
    }

    /// Every row of the shards, in order of the key.
    pub(super) fn all(&self) -> String {
        let (select, name) = (self.select(), self.name);
        let order = joined(self.keys(), ", ", |c| format!("t.{}", quoted(c)));
        format!(
            "select {select} from \"{name}\" as t where t.shard = any($1::smallint[]) \
             order by {order}"
        )
    }

    /// Removes rows by their keys.
    pub(super) fn delete(&self, script: &mut Script, shard: u16, keys: Grid) -> Sent {
        if keys.len() == 0 {
            return Ok(());
        }
        let name = self.name;
        let (lists, names) = (lists(self.keys(), 2), names(self.keys()));
        let same = same(self.keys(), "t", "k");
        let sql = format!(
            "delete from \"{name}\" as t using unnest({lists}) as k({names}) \
             where t.shard = $1 and {same}"
        );
        script.with(Kind::I2, i64::from(shard))?.with_grid(keys)?.ask(&sql)?;
        Ok(())
    }

    /// Overwrites rows that are there; how many tells which were not.
    pub(super) fn update(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        if rows.len() == 0 {
            return Ok(());
        }
        let name = self.name;
        let (lists, names) = (lists(self.columns, 2), names(self.columns));
        let set = joined(self.rest(), ", ", |c| format!("{0} = i.{0}", quoted(c)));
        let fixed = self.columns.get(..self.key + self.fixed).unwrap_or_default();
        let same = same(fixed, "t", "i");
        let sql = format!(
            "update \"{name}\" as t set {set} from unnest({lists}) as i({names}) \
             where t.shard = $1 and {same}"
        );
        script.with(Kind::I2, i64::from(shard))?.with_grid(rows)?.ask(&sql)?;
        Ok(())
    }

    /// Adds those rows that are not there.
    pub(super) fn add_missing(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        if rows.len() == 0 {
            return Ok(());
        }
        let name = self.name;
        let (lists, names) = (lists(self.columns, 2), names(self.columns));
        let same = same(self.keys(), "t", "i");
        let mine = joined(self.columns, ", ", |c| format!("i.{}", quoted(c)));
        let sql = format!(
            "insert into \"{name}\" (shard, {names}) select $1, {mine} from unnest({lists}) \
             as i({names}) where not exists \
             (select from \"{name}\" as t where t.shard = $1 and {same})"
        );
        script.with(Kind::I2, i64::from(shard))?.with_grid(rows)?.ask(&sql)?;
        Ok(())
    }

    /// Adds those rows that are not there with their fixed columns; one that is there with others is
    /// met by its key, and the server complains.
    pub(super) fn add_missing_fixed(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        let all = Self { key: self.key + self.fixed, fixed: 0, ..*self };
        all.add_missing(script, shard, rows)
    }

    /// Adds rows, or overwrites those that are there and different: a row that stays as it is is
    /// not touched.
    pub(super) fn put_quietly(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        if rows.len() == 0 {
            return Ok(());
        }
        let name = self.name;
        let (lists, names) = (lists(self.columns, 2), names(self.columns));
        let same = same(self.keys(), "t", "i");
        let set = joined(self.rest(), ", ", |c| format!("{0} = i.{0}", quoted(c)));
        let old = joined(self.rest(), ", ", |c| format!("t.{}", quoted(c)));
        let new = joined(self.rest(), ", ", |c| format!("i.{}", quoted(c)));
        let sql = format!(
            "update \"{name}\" as t set {set} from unnest({lists}) as i({names}) \
             where t.shard = $1 and {same} and ({old}) is distinct from ({new})"
        );
        script.with(Kind::I2, i64::from(shard))?.with_grid(rows.clone())?.ask(&sql)?;
        self.add_missing(script, shard, rows)
    }

    /// Adds rows, or overwrites those that are there.
    pub(super) fn put(&self, script: &mut Script, shard: u16, rows: Grid) -> Sent {
        if rows.len() == 0 {
            return Ok(());
        }
        let name = self.name;
        let (lists, names) = (lists(self.columns, 2), names(self.columns));
        let keys = joined(self.keys(), ", ", |c| quoted(c));
        let set = joined(self.rest(), ", ", |c| format!("{0} = excluded.{0}", quoted(c)));
        let then = if set.is_empty() { "nothing".to_owned() } else { format!("update set {set}") };
        let mine = joined(self.columns, ", ", |c| format!("i.{}", quoted(c)));
        let sql = format!(
            "insert into \"{name}\" (shard, {names}) select $1, {mine} from unnest({lists}) \
             as i({names}) on conflict (shard, {keys}) do {then}"
        );
        script.with(Kind::I2, i64::from(shard))?.with_grid(rows)?.ask(&sql)?;
        Ok(())
    }

    /// Adds rows that cannot be there yet.
    pub(super) fn copied(&self) -> Fresh {
        let kinds = std::iter::once(Kind::I2).chain(self.columns.iter().map(|c| c.1));
        Fresh { rows: Copied::new(kinds) }
    }

    pub(super) fn copy(&self, script: &mut Script, fresh: Fresh) -> Sent {
        if fresh.rows.len() == 0 {
            return Ok(());
        }
        let (name, names) = (self.name, names(self.columns));
        let sql = format!("copy \"{name}\" (shard, {names}) from stdin (format binary)");
        script.copy(&sql, fresh.rows)?;
        Ok(())
    }
}

/// Whether a statement could be written down.
pub(super) type Sent = Result<(), Trouble>;

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
pub(super) fn lists(columns: &[(&str, Kind)], from: usize) -> String {
    let mut n = from - 1;
    joined(columns, ", ", |c| {
        n += 1;
        format!("${n}::{}[]", c.1.sql())
    })
}

/// `"a", "b"`
pub(super) fn names(columns: &[(&str, Kind)]) -> String {
    joined(columns, ", ", |c| quoted(c))
}

/// `t.a = k.a and t.b = k.b`
fn same(columns: &[(&str, Kind)], left: &str, right: &str) -> String {
    joined(columns, " and ", |c| format!("{left}.{0} = {right}.{0}", quoted(c)))
}

fn quoted(column: &(&str, Kind)) -> String {
    format!("\"{}\"", column.0)
}

fn joined<'c>(
    columns: &[(&'c str, Kind)],
    between: &str,
    one: impl FnMut(&(&'c str, Kind)) -> String,
) -> String {
    columns.iter().map(one).collect::<Vec<_>>().join(between)
}
