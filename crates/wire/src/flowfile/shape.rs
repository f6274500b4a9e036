//! The file as a whole: the keys of a flow, or a bare list of tasks.

use armarius_core::flow::check::{LEASE_DEFAULT, MAX_COLUMNS_DEFAULT, half};
use armarius_core::flow::codec::{bundle_of, bundle_word};
use armarius_core::flow::{Flow, Lots, On, OnEmpty, Pairs, Parts, Step};
use armarius_core::text::Name;

use super::Home;
use super::error::Findings;
use super::fields::Fields;
use super::node::{Kind, Node, Place};
use super::{scalars, step, trigger};

/// Reads the tree, or says why nothing can be made of it.
pub(super) fn flow(found: &mut Findings, root: &Node, file_name: &str, home: Home) -> Option<Flow> {
    match &root.kind {
        Kind::List(_) => {
            let mut flow = Flow::manual(stem(found, file_name)?);
            flow.on = on_commit();
            flow.tasks = tasks(found, root)?;
            Some(flow)
        }
        Kind::Map(_) => full(found, root, file_name, home),
        Kind::Nothing => {
            found.add(root.place, "the file is empty", "give at least `tasks`");
            None
        }
        Kind::Plain(_) | Kind::Text(_) => {
            scalars::wrong(found, root, "a flow, or a list of tasks");
            None
        }
    }
}

fn full(found: &mut Findings, root: &Node, file_name: &str, home: Home) -> Option<Flow> {
    let mut fields = Fields::open(found, root, "a flow")?;
    let name = match fields.take("name") {
        Some(node) => scalars::name(found, node),
        None => stem(found, file_name),
    };
    // A stand-in lets the rest be read, so that its problems are told as well.
    let mut flow = Flow::manual(name.clone().unwrap_or_else(|| Name::trusted("unnamed")));
    match fields.take("on") {
        Some(node) => match trigger::read(found, node) {
            Some(on) => flow.on = on,
            None => found.lost(),
        },
        None => match home {
            Home::Archive => flow.on = on_commit(),
            Home::Server => {}
        },
    }
    fields.set(found, "order", &mut flow.order, scalars::word);
    fields.set(found, "records", &mut flow.records, |f, node| scalars::name(f, node).map(Some));
    fields.set(found, "touches", &mut flow.touches, scalars::flag);
    fields.set(found, "singleton", &mut flow.singleton, scalars::flag);
    fields.set(found, "max_items", &mut flow.max_items, scalars::number);
    let number = |f: &mut Findings, node: &Node| scalars::number(f, node).map(Some);
    fields.set(found, "concurrency", &mut flow.concurrency, number);
    flow.pairs = pairs(found, &mut fields, &flow.on);
    flow.lots = lots(found, &mut fields, &flow.on);
    let list = fields.needed(found, "tasks", "list the tasks, as in `tasks: [{name: …}]`");
    match list.and_then(|node| tasks(found, node)) {
        Some(tasks) => flow.tasks = tasks,
        None => found.lost(),
    }
    fields.close(found);
    name.map(|_| flow)
}

fn tasks(found: &mut Findings, node: &Node) -> Option<Vec<Step>> {
    if !matches!(node.kind, Kind::List(_)) {
        scalars::wrong(found, node, "a list of tasks");
        return None;
    }
    scalars::list(found, node, step::read)
}

fn on_commit() -> On {
    On::Commit { paths: Vec::new(), ignore_authors: Vec::new() }
}

/// The file's name without folders and ending.
fn stem(found: &mut Findings, file_name: &str) -> Option<Name> {
    let last = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
    let name = Name::new(stem);
    if name.is_err() {
        found.add(Place::START, "the file's name gives the flow no name", "give it a `name`");
    }
    name.ok()
}

/// Settings that mean something only for `on: pairs`.
fn pairs(found: &mut Findings, fields: &mut Fields<'_>, on: &On) -> Option<Pairs> {
    let keys = ["bundle", "max_columns", "lease", "offer_ttl"];
    if !matches!(on, On::Pairs { .. }) {
        refuse_all(found, fields, &keys, "on: pairs");
        return None;
    }
    let mut bundle_by_item = true;
    fields.set(found, "bundle", &mut bundle_by_item, |found, node| {
        let read = node.spelling().and_then(bundle_of);
        if read.is_none() {
            let words = format!("{} or {}", bundle_word(true), bundle_word(false));
            scalars::wrong(found, node, &words);
        }
        read
    });
    let mut max_columns = MAX_COLUMNS_DEFAULT;
    fields.set(found, "max_columns", &mut max_columns, scalars::number);
    let mut lease = LEASE_DEFAULT;
    fields.set(found, "lease", &mut lease, scalars::length);
    let mut offer_ttl = half(lease);
    fields.set(found, "offer_ttl", &mut offer_ttl, scalars::length);
    Some(Pairs { bundle_by_item, max_columns, lease, offer_ttl })
}

/// Settings that mean something only for `on: lot`.
fn lots(found: &mut Findings, fields: &mut Fields<'_>, on: &On) -> Option<Lots> {
    let keys = ["sources", "sinks", "parts", "on_empty"];
    if !matches!(on, On::Lot) {
        refuse_all(found, fields, &keys, "on: lot");
        return None;
    }
    let mut lots = Lots {
        sources: Default::default(),
        sinks: Default::default(),
        parts: Parts::Whole,
        on_empty: OnEmpty::default(),
    };
    let roles =
        |found: &mut Findings, node: &Node| scalars::map(found, node, scalars::name, scalars::text);
    fields.set(found, "sources", &mut lots.sources, roles);
    fields.set(found, "sinks", &mut lots.sinks, roles);
    fields.set(found, "parts", &mut lots.parts, |found, node| match node.spelling() {
        Some("whole") => Some(Parts::Whole),
        _ => scalars::names(found, node).map(Parts::By),
    });
    fields.set(found, "on_empty", &mut lots.on_empty, scalars::word);
    Some(lots)
}

fn refuse_all(
    found: &mut Findings,
    fields: &mut Fields<'_>,
    keys: &[&'static str],
    belongs_to: &str,
) {
    for key in keys {
        if let Some((node, _)) = fields.take_entry(key) {
            found.add(
                node.place,
                format!("`{key}` belongs to a flow `{belongs_to}`"),
                format!("remove it, or use `{belongs_to}`"),
            );
        }
    }
}
