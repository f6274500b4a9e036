//! How a flow is written down: canonical JSON, from which its digest is made.
//!
//! The JSON holds every field that differs from its default, under sorted keys, and is at the same
//! time a valid flow file of the server. The defaults are therefore part of the format: to change
//! one would change the meaning of every stored definition that relies on it.
//!
//! Names that read as references (`PREV`, `PREV:x`) do not survive the round trip;
//! [`super::check`] refuses them.

mod length;
mod read;
mod words;
mod write;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Digest, Flow};

pub use length::{length_text, parse_length};
pub use words::{COMMIT, PREV, PREV_PREFIX, Word, parse_reference, reference_text};

/// The canonical JSON of a flow.
#[must_use]
pub fn to_json(flow: &Flow) -> Value {
    let mut value = write::flow(flow);
    // Another crate may switch serde_json to insertion order; the digest must not notice.
    value.sort_all_objects();
    value
}

/// The canonical JSON of a flow as compact text.
#[must_use]
pub fn to_text(flow: &Flow) -> String {
    to_json(flow).to_string()
}

/// The SHA-256 of a flow's canonical text: what tells two versions apart.
#[must_use]
pub fn digest(flow: &Flow) -> Digest {
    Sha256::digest(to_text(flow)).into()
}

/// Reads what [`to_text`] wrote. Nothing unknown is passed over.
pub fn from_text(text: &str) -> Result<Flow, String> {
    let value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    from_json(&value)
}

/// Reads what [`to_json`] made. Nothing unknown is passed over.
pub fn from_json(value: &Value) -> Result<Flow, String> {
    read::flow(value)
}

/// The word for bundling by item, or for not bundling.
#[must_use]
pub fn bundle_word(by_item: bool) -> &'static str {
    if by_item { "item" } else { "none" }
}

/// Reads what [`bundle_word`] writes: whether bundles are made by item.
#[must_use]
pub fn bundle_of(word: &str) -> Option<bool> {
    match word {
        "item" => Some(true),
        "none" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::*;

    use super::super::*;
    use super::*;
    use crate::ids::Span;
    use crate::text::{Name, Text};

    fn name() -> impl Strategy<Value = Name> {
        "[a-zé][a-z0-9:. _-]{0,8}".prop_map(|s| Name::new(&s).unwrap())
    }

    fn text() -> impl Strategy<Value = Text> {
        any::<String>().prop_map(Text::from)
    }

    fn span() -> impl Strategy<Value = Span> {
        prop_oneof![any::<i64>().prop_map(Span), (0_i64..100_000).prop_map(Span::seconds)]
    }

    fn word<W: Word + std::fmt::Debug>() -> impl Strategy<Value = W> {
        proptest::sample::select(W::ALL)
    }

    fn reference() -> impl Strategy<Value = Reference> {
        prop_oneof![
            name().prop_map(Reference::Task),
            Just(Reference::Prev),
            name().prop_map(Reference::PrevTask),
        ]
    }

    fn trigger() -> impl Strategy<Value = On> {
        let names = || vec(name(), 0..3);
        let query = (names(), names(), names(), names(), names(), names(), vec(text(), 0..3));
        prop_oneof![
            (vec(text(), 0..3), vec(text(), 0..3))
                .prop_map(|(paths, ignore_authors)| On::Commit { paths, ignore_authors }),
            query.prop_map(|(kinds, types, success, failed, absent, stale, items)| {
                On::Items(Query { kinds, types, success, failed, absent, stale, items })
            }),
            Just(On::Lot),
            Just(On::Submission),
            (name(), name()).prop_map(|(rows, columns)| On::Pairs { rows, columns }),
            (text(), text(), word(), word()).prop_map(|(cron, tz, missed, overlap)| {
                On::Schedule(Calendar { cron, tz, missed, overlap })
            }),
            Just(On::Manual),
        ]
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            vec(text(), 0..3).prop_map(Action::Command),
            (text(), text()).prop_map(|(text, shell)| Action::Script { text, shell }),
            name().prop_map(Action::Run),
        ]
    }

    prop_compose! {
        fn step()(
            name in name(), depends in vec((reference(), word()), 0..3),
            cancels in vec(reference(), 0..3), action in action(),
            (exclusive, source) in any::<(bool, bool)>(),
            (image, workdir) in (option::of(text()), option::of(text())),
            (env, params) in (btree_map(text(), text(), 0..3), btree_map(text(), text(), 0..3)),
            (secrets, labels) in (vec(self::name(), 0..3), vec(self::name(), 0..3)),
            (priority, retries) in any::<(i32, u32)>(),
            (timeout, progress_timeout, ttl) in (span(), option::of(span()), span()),
            backoff in (span(), span()).prop_map(|(min, max)| Backoff { min, max }),
            exit_codes in btree_map(any::<i32>(), word(), 0..3), late in word(),
            limit in option::of((text(), any::<u32>()).prop_map(|(key, max)| Limit { key, max })),
        ) -> Step {
            let depends = depends.into_iter().map(|(on, when)| Depend { on, when }).collect();
            Step {
                name, depends, cancels, exclusive, action, image, env, secrets, params, source,
                workdir, labels, priority, timeout, progress_timeout, ttl, retries, backoff,
                exit_codes, late, limit,
            }
        }
    }

    fn pairs() -> impl Strategy<Value = Pairs> {
        (any::<bool>(), any::<u32>(), span(), span()).prop_map(
            |(bundle_by_item, max_columns, lease, offer_ttl)| Pairs {
                bundle_by_item,
                max_columns,
                lease,
                offer_ttl,
            },
        )
    }

    fn lots() -> impl Strategy<Value = Lots> {
        let roles = || btree_map(name(), text(), 0..3);
        let parts = prop_oneof![Just(Parts::Whole), vec(name(), 0..3).prop_map(Parts::By)];
        (roles(), roles(), parts, word()).prop_map(|(sources, sinks, parts, on_empty)| Lots {
            sources,
            sinks,
            parts,
            on_empty,
        })
    }

    prop_compose! {
        fn flow()(
            name in name(), on in trigger(), order in word(), records in option::of(self::name()),
            (touches, singleton) in any::<(bool, bool)>(),
            (max_items, concurrency) in any::<(u32, Option<u32>)>(),
            pairs in option::of(pairs()), lots in option::of(lots()), tasks in vec(step(), 0..4),
        ) -> Flow {
            Flow {
                name, on, order, records, touches, singleton, max_items, concurrency, pairs, lots,
                tasks,
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(flow in flow()) {
            prop_assert_eq!(from_text(&to_text(&flow)), Ok(flow));
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _unread = from_text(&text);
        }
    }

    #[test]
    fn defaults_are_left_out() {
        let mut flow = Flow::manual(Name::trusted("nightly"));
        flow.tasks.push(Step::outside(Name::trusted("scan")));
        assert_eq!(
            to_text(&flow),
            r#"{"name":"nightly","tasks":[{"name":"scan","run":"outside"}]}"#
        );
    }

    #[test]
    fn keys_are_sorted_and_lengths_are_friendly() {
        let mut flow = Flow::manual(Name::trusted("f"));
        flow.on = On::Items(Query { stale: vec![Name::trusted("ocr")], ..Query::default() });
        let mut step = Step::outside(Name::trusted("s"));
        step.timeout = Span::seconds(90);
        step.exit_codes = BTreeMap::from([(3, Class::NotYet)]);
        step.depends.push(Depend { on: Reference::Prev, when: When::Settled });
        step.backoff = Backoff { min: Span::seconds(60), max: Span::millis(150) };
        flow.tasks.push(step);
        assert_eq!(
            to_text(&flow),
            concat!(
                r#"{"name":"f","on":{"items":{"stale":["ocr"]}},"tasks":[{"backoff":"1m..150ms","#,
                r#""depends":[{"on":"settled","task":"PREV"}],"exit_codes":{"3":"not-yet"},"#,
                r#""name":"s","run":"outside","timeout":"90s"}]}"#
            )
        );
    }

    #[test]
    fn the_digest_is_that_of_the_text() {
        let flow = Flow::manual(Name::trusted("a"));
        let hex: String = digest(&flow).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "d9d719b27480b55cd4918020e7473e716ed3569c8adafe926cf9b10b4f8ef064");
    }

    #[test]
    fn what_was_not_written_is_refused() {
        for (text, error) in [
            ("[]", "expected an object"),
            ("{}", "name: missing"),
            (r#"{"name":"a","color":1}"#, "color: unknown key"),
            (r#"{"name":"a","order":"big"}"#, "order: expected one of oldest, newest"),
            (r#"{"name":"a","tasks":[{"name":"s"}]}"#, "tasks[0].run: missing"),
            (
                r#"{"name":"a","tasks":[{"name":"s","run":"x","command":["y"]}]}"#,
                "tasks[0].run: unknown key",
            ),
            (
                r#"{"name":"a","tasks":[{"name":"s","run":"x","ttl":30}]}"#,
                "tasks[0].ttl: expected a text",
            ),
            (r#"{"name":"a","on":{"pairs":{"rows":"r"}}}"#, "on.pairs.columns: missing"),
            (r#"{"name":"a","max_columns":1}"#, "max_columns: unknown key"),
            (
                r#"{"name":"a","tasks":[{"name":"s","run":"x","retries":-1}]}"#,
                "tasks[0].retries: expected a whole number within its range",
            ),
        ] {
            assert_eq!(from_text(text), Err(error.to_owned()), "{text}");
        }
    }
}
