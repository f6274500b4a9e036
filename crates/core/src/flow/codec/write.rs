//! Writes a flow as JSON: every field that differs from its default.
//!
//! Each struct is taken apart by name and without `..`, so that a new field cannot be forgotten.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::{
    Action, Backoff, Calendar, Depend, Flow, Limit, Lots, Missed, On, OnEmpty, Overlap, Pairs,
    Parts, Query, Reference, Step, When,
};
use super::{Word, length_text, reference_text};
use crate::ids::Span;
use crate::text::Name;

pub(super) fn flow(flow: &Flow) -> Value {
    let usual = Flow::manual(flow.name.clone());
    let Flow {
        name,
        on,
        order,
        records,
        touches,
        singleton,
        max_items,
        concurrency,
        pairs,
        lots,
        tasks,
    } = flow;
    let mut out = Sheet::default();
    out.put("name", name.as_str());
    if let Some(value) = trigger(on) {
        out.put("on", value);
    }
    out.word("order", *order, usual.order);
    out.option("records", records.as_ref().map(Name::as_str));
    out.flag("touches", *touches);
    out.flag("singleton", *singleton);
    out.unless("max_items", *max_items, usual.max_items);
    out.option("concurrency", *concurrency);
    if let Some(pairs) = pairs {
        put_pairs(&mut out, pairs);
    }
    if let Some(lots) = lots {
        put_lots(&mut out, lots);
    }
    out.list("tasks", tasks.iter().map(step).collect());
    out.done()
}

fn trigger(on: &On) -> Option<Value> {
    let (word, inner) = match on {
        On::Manual => return None,
        On::Commit { paths, ignore_authors } => {
            let mut out = Sheet::default();
            out.list("paths", texts(paths));
            out.list("ignore_authors", texts(ignore_authors));
            ("commit", out)
        }
        On::Items(query) => ("items", self::query(query)),
        On::Lot => ("lot", Sheet::default()),
        On::Submission => ("submission", Sheet::default()),
        On::Pairs { rows, columns } => {
            let mut out = Sheet::default();
            out.put("rows", rows.as_str());
            out.put("columns", columns.as_str());
            ("pairs", out)
        }
        On::Schedule(calendar) => ("schedule", self::calendar(calendar)),
    };
    if inner.0.is_empty() {
        return Some(Value::from(word));
    }
    let mut out = Sheet::default();
    out.put(word, inner.done());
    Some(out.done())
}

fn query(query: &Query) -> Sheet {
    let Query { kinds, types, success, failed, absent, stale, items } = query;
    let mut out = Sheet::default();
    out.list("kinds", texts(kinds));
    out.list("types", texts(types));
    out.list("success", texts(success));
    out.list("failed", texts(failed));
    out.list("absent", texts(absent));
    out.list("stale", texts(stale));
    out.list("items", texts(items));
    out
}

fn calendar(calendar: &Calendar) -> Sheet {
    let Calendar { cron, tz, missed, overlap } = calendar;
    let mut out = Sheet::default();
    out.put("cron", &**cron);
    out.put("tz", &**tz);
    out.word("missed", *missed, Missed::default());
    out.word("overlap", *overlap, Overlap::default());
    out
}

/// All four keys, always: their presence is what tells "some" from "none".
fn put_pairs(out: &mut Sheet, pairs: &Pairs) {
    let Pairs { bundle_by_item, max_columns, lease, offer_ttl } = pairs;
    out.put("bundle", super::bundle_word(*bundle_by_item));
    out.put("max_columns", *max_columns);
    out.put("lease", length_text(*lease));
    out.put("offer_ttl", length_text(*offer_ttl));
}

/// `sources` and `sinks` always: their presence is what tells "some" from "none".
fn put_lots(out: &mut Sheet, lots: &Lots) {
    let Lots { sources, sinks, parts, on_empty } = lots;
    out.put("sources", map(sources));
    out.put("sinks", map(sinks));
    match parts {
        Parts::Whole => {}
        Parts::By(segments) => out.put("parts", Value::Array(texts(segments))),
    }
    out.word("on_empty", *on_empty, OnEmpty::default());
}

fn step(step: &Step) -> Value {
    let usual = Step::outside(step.name.clone());
    let Step {
        name,
        depends,
        cancels,
        exclusive,
        action,
        image,
        env,
        secrets,
        params,
        source,
        workdir,
        labels,
        priority,
        timeout,
        progress_timeout,
        ttl,
        retries,
        backoff,
        exit_codes,
        late,
        limit,
    } = step;
    let mut out = Sheet::default();
    out.put("name", name.as_str());
    out.list("depends", depends.iter().map(depend).collect());
    out.list("cancels", cancels.iter().map(reference).collect());
    out.flag("exclusive", *exclusive);
    put_action(&mut out, action);
    out.option("image", image.as_deref());
    out.map("env", env);
    out.list("secrets", texts(secrets));
    out.map("params", params);
    out.flag("source", *source);
    out.option("workdir", workdir.as_deref());
    out.list("labels", texts(labels));
    out.unless("priority", *priority, usual.priority);
    out.length("timeout", *timeout, usual.timeout);
    out.option("progress_timeout", progress_timeout.map(length_text));
    out.length("ttl", *ttl, usual.ttl);
    out.unless("retries", *retries, usual.retries);
    if *backoff != usual.backoff {
        let Backoff { min, max } = backoff;
        out.put("backoff", format!("{}..{}", length_text(*min), length_text(*max)));
    }
    if !exit_codes.is_empty() {
        let codes = exit_codes.iter().map(|(code, class)| (code.to_string(), class.word().into()));
        out.put("exit_codes", codes.collect::<Map<_, _>>());
    }
    out.word("late", *late, usual.late);
    if let Some(Limit { key, max }) = limit {
        let mut inner = Sheet::default();
        inner.put("key", &**key);
        inner.put("max", *max);
        out.put("limit", inner.done());
    }
    out.done()
}

/// What a step runs has no default: it is always written.
fn put_action(out: &mut Sheet, action: &Action) {
    match action {
        Action::Command(argv) => out.put("command", Value::Array(texts(argv))),
        Action::Script { text, shell } => {
            out.put("script", &**text);
            out.put("shell", &**shell);
        }
        Action::Run(name) => out.put("run", name.as_str()),
    }
}

fn depend(depend: &Depend) -> Value {
    let Depend { on, when } = depend;
    match when {
        When::Done => reference(on),
        When::Settled => {
            let mut out = Sheet::default();
            out.put("task", reference_text(on));
            out.put("on", when.word());
            out.done()
        }
    }
}

fn reference(reference: &Reference) -> Value {
    Value::from(reference_text(reference))
}

fn texts<T: std::ops::Deref<Target = str>>(list: &[T]) -> Vec<Value> {
    list.iter().map(|text| Value::from(&**text)).collect()
}

fn map<K, V>(map: &BTreeMap<K, V>) -> Value
where
    K: std::ops::Deref<Target = str>,
    V: std::ops::Deref<Target = str>,
{
    Value::Object(map.iter().map(|(k, v)| (k.to_string(), Value::from(&**v))).collect())
}

/// A JSON object that leaves out what is as usual.
#[derive(Default)]
struct Sheet(Map<String, Value>);

impl Sheet {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    fn option(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn flag(&mut self, key: &str, value: bool) {
        self.unless(key, value, false);
    }

    fn unless<T: Into<Value> + PartialEq + Copy>(&mut self, key: &str, value: T, usual: T) {
        if value != usual {
            self.put(key, value);
        }
    }

    fn word<W: Word>(&mut self, key: &str, value: W, usual: W) {
        if value != usual {
            self.put(key, value.word());
        }
    }

    fn length(&mut self, key: &str, value: Span, usual: Span) {
        if value != usual {
            self.put(key, length_text(value));
        }
    }

    fn list(&mut self, key: &str, list: Vec<Value>) {
        if !list.is_empty() {
            self.put(key, list);
        }
    }

    fn map<K, V>(&mut self, key: &str, entries: &BTreeMap<K, V>)
    where
        K: std::ops::Deref<Target = str>,
        V: std::ops::Deref<Target = str>,
    {
        if !entries.is_empty() {
            self.put(key, map(entries));
        }
    }

    fn done(self) -> Value {
        Value::Object(self.0)
    }
}
