//! What makes a trigger and the settings that belong to it wrong.

use std::collections::BTreeSet;

use super::super::codec::length_text;
use super::super::{Calendar, Flow, Lots, On, Pairs, Parts, Query};
use super::{Findings, lease_length, plain_text, repeated};
use crate::limits;
use crate::text::Name;

pub(super) fn check(findings: &mut Findings, flow: &Flow) {
    match &flow.on {
        On::Commit { paths, ignore_authors } => {
            for (key, list) in [("paths", paths), ("ignore_authors", ignore_authors)] {
                for (i, text) in list.iter().enumerate() {
                    plain_text(findings, at!["on", key, i], text);
                }
                repeated(findings, list, |i| at!["on", key, i]);
            }
        }
        On::Items(query) => self::query(findings, query),
        On::Pairs { rows, columns } => {
            if rows == columns {
                findings.add(
                    at!["on", "columns"],
                    format!("rows and columns are both `{rows}`"),
                    "pair two different kinds",
                );
            }
            if flow.tasks.len() > 1 {
                findings.add(
                    at!["tasks", 1],
                    "a flow `on: pairs` has exactly one task",
                    "let a second flow be woken by the event this one records",
                );
            }
        }
        On::Schedule(calendar) => self::calendar(findings, calendar),
        On::Lot | On::Submission | On::Manual => {}
    }
    pairs(findings, flow);
    lots(findings, flow);
}

/// Marks that cannot be as asked at the same time.
fn query(findings: &mut Findings, query: &Query) {
    let Query { kinds, types, success, failed, absent, stale, items } = query;
    let lists = [
        ("kinds", kinds),
        ("types", types),
        ("success", success),
        ("failed", failed),
        ("absent", absent),
        ("stale", stale),
    ];
    for (key, list) in lists {
        repeated(findings, list, |i| at!["on", key, i]);
    }
    repeated(findings, items, |i| at!["on", "items", i]);
    for (i, key) in items.iter().enumerate() {
        plain_text(findings, at!["on", "items", i], key);
        if key.len() > limits::KEY_BYTES_MAX {
            findings.add(
                at!["on", "items", i],
                format!("key of {} bytes, more than {}", key.len(), limits::KEY_BYTES_MAX),
                "give the key of an item",
            );
        }
    }
    contradicting(findings, ("success", success), ("failed", failed));
    contradicting(findings, ("success", success), ("absent", absent));
    contradicting(findings, ("failed", failed), ("absent", absent));
}

fn contradicting(
    findings: &mut Findings,
    (key, list): (&str, &[Name]),
    (other_key, other): (&'static str, &[Name]),
) {
    let first: BTreeSet<&Name> = list.iter().collect();
    for (i, name) in other.iter().enumerate().filter(|(_, name)| first.contains(name)) {
        findings.add(
            at!["on", other_key, i],
            format!("no item can have `{name}` both as `{key}` and as `{other_key}`"),
            "remove it from one of them; a flow for each case is another way",
        );
    }
}

/// The form only: which moments an expression means is known to whoever reads the clock.
fn calendar(findings: &mut Findings, calendar: &Calendar) {
    plain_text(findings, at!["on", "cron"], &calendar.cron);
    plain_text(findings, at!["on", "tz"], &calendar.tz);
    let fields = calendar.cron.split_whitespace().count();
    if !calendar.cron.starts_with('@') && !(5..=6).contains(&fields) {
        findings.add(
            at!["on", "cron"],
            format!("cron expression has {fields} fields, not five or six"),
            "write minute, hour, day, month and weekday, as in `0 3 * * *`",
        );
    }
}

fn pairs(findings: &mut Findings, flow: &Flow) {
    let is_pairs = matches!(flow.on, On::Pairs { .. });
    let Some(Pairs { bundle_by_item: _, max_columns, lease, offer_ttl }) = &flow.pairs else {
        if is_pairs {
            findings.add(
                at!["on"],
                "the settings of `on: pairs` are missing",
                "fill in the defaults before checking",
            );
        }
        return;
    };
    if !is_pairs {
        findings.add(
            at!["bundle"],
            "bundle, max_columns, lease and offer_ttl belong to `on: pairs`",
            "remove them, or use `on: pairs`; a task's lease is its `ttl`",
        );
        return;
    }
    let columns = 1..=limits::CLAIM_TASKS_MAX;
    if !columns.contains(max_columns) {
        findings.out_of_range(at!["max_columns"], "max_columns", *max_columns, columns);
    }
    lease_length(findings, at!["lease"], "lease", *lease);
    if offer_ttl.0 <= 0 || offer_ttl >= lease {
        findings.add(
            at!["offer_ttl"],
            format!(
                "an offer of {} does not fit into a lease of {}",
                length_text(*offer_ttl),
                length_text(*lease)
            ),
            "make it longer than zero and shorter than the lease",
        );
    }
}

fn lots(findings: &mut Findings, flow: &Flow) {
    let is_lot = matches!(flow.on, On::Lot);
    let Some(Lots { sources, sinks, parts, on_empty: _ }) = &flow.lots else {
        if is_lot {
            findings.add(at!["on"], "a flow `on: lot` reads no dataset", "name its `sources`");
        }
        return;
    };
    if !is_lot {
        findings.add(
            at!["sources"],
            "sources, sinks, parts and on_empty belong to `on: lot`",
            "remove them, or use `on: lot`",
        );
        return;
    }
    if sources.is_empty() {
        findings.add(
            at!["sources"],
            "a flow `on: lot` reads no dataset",
            "name at least one, as in `sources: {main: scans}`",
        );
    }
    for (key, roles) in [("sources", sources), ("sinks", sinks)] {
        for (role, dataset) in roles {
            plain_text(findings, at![key, role.to_string()], dataset);
        }
    }
    for (role, dataset) in sinks {
        if sources.values().any(|source| source == dataset) {
            findings.add(
                at!["sinks", role.to_string()],
                format!("`{dataset}` is read and written, each lot would wake the flow again"),
                "write to another dataset",
            );
        }
    }
    match parts {
        Parts::Whole => {}
        Parts::By(segments) => {
            if segments.is_empty() {
                findings.add(
                    at!["parts"],
                    "an empty list of parts splits into nothing",
                    "name path segments, as in [year, month], or leave it out",
                );
            }
            repeated(findings, segments, |i| at!["parts", i]);
        }
    }
}
