//! Arbitrary writes to any table.

use armarius_core::view::View;

use super::sample;

/// One write: to which table or list, of which row, with which content; without content it is
/// removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// Which table or list, taken modulo [`tables_len`].
    pub table: usize,
    /// Whose list.
    pub owner: i64,
    /// Which row.
    pub key: i64,
    /// What it holds.
    pub variant: Option<i64>,
}

macro_rules! strokes {
    (
        tables { $($table:ident: $sample:ident;)* }
        lists { $($list:ident: $lsample:ident;)* }
    ) => {
        const TABLES: &[fn(&mut View, Stroke)] = &[
            $(|view, s| {
                let (key, row) = sample::$sample(s.key, s.variant.unwrap_or_default());
                match s.variant {
                    Some(_) => view.$table.put(key, row),
                    None => view.$table.delete(key),
                }
            },)*
            $(|view, s| {
                let variant = s.variant.unwrap_or_default();
                let (owner, key, row) = sample::$lsample(s.owner, s.key, variant);
                match s.variant {
                    Some(_) => view.$list.put(owner, key, row),
                    None => view.$list.delete(owner, key),
                }
            },)*
        ];
    };
}

strokes! {
    tables {
        collections: collection;
        flows: flow;
        queues: queue;
        holds: hold;
        schedules: schedule;
        archives: archive;
        keys: key;
        counters: counter;
        versions: version;
        items: item;
        marks: mark;
        bodies: body;
        tasks: task;
        rounds: round;
        newest: newest;
        slots: slots;
        leases: lease;
        batches: batch;
        destinations: destination;
        idems: idem;
        manifests: manifest;
    }
    lists {
        ready: ready;
        lines: line;
        timers: timer;
        dependents: dependent;
        instances: instance;
        held: held;
        members: member;
        errands: errand;
        letters: letter;
    }
}

/// How many base tables and lists there are.
#[must_use]
pub fn tables_len() -> usize {
    TABLES.len()
}

/// Writes strokes into a view.
pub fn scribble(view: &mut View, strokes: &[Stroke]) {
    for stroke in strokes {
        if let Some(write) = TABLES.get(stroke.table % TABLES.len()) {
            write(view, *stroke);
        }
    }
}
