//! Text into a tree. The only place that knows the YAML library.
//!
//! Nothing is guessed about values: numbers and truth values keep their spelling, so that a
//! version `1.10` stays `1.10`, and `on`, `yes` and `no` are words.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error, Options, Spanned, UserMessageFormatter};

use super::error::Located;
use super::node::{Kind, Node, Place, place_after};
use super::{FILE_BYTES_MAX, Source};

/// Most values of a file, repetitions by alias included.
const NODES_MAX: usize = 20_000;
/// Deepest nesting of lists and maps. A flow needs five; each level costs the reader some thirty
/// kilobytes of stack in an unoptimised build, so a generous limit would overflow a thread.
const DEPTH_MAX: usize = 16;
/// Most anchors (`&name`).
const ANCHORS_MAX: usize = 100;
/// Most aliases (`*name`) and merges (`<<`).
const ALIASES_MAX: usize = 1_000;

/// Reads a file into a tree, by the ending of its name.
pub(super) fn parse(source: &Source<'_>) -> Result<Node, Located> {
    if is_json(source.file_name) {
        // JSON is YAML, but not the other way round: this refuses what only YAML allows.
        serde_json::from_str::<IgnoredAny>(source.text)
            .map_err(|error| json_problem(source.text, &error))?;
    }
    let raw: Raw = serde_saphyr::from_str_with_options(source.text, options())
        .map_err(|error| yaml_problem(&error))?;
    Ok(raw.with_spelling(source.text))
}

fn is_json(file_name: &str) -> bool {
    let ending = file_name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(FILE_BYTES_MAX),
            max_events: 4 * NODES_MAX,
            max_nodes: NODES_MAX,
            max_depth: DEPTH_MAX,
            flow_nesting_limit: DEPTH_MAX,
            max_anchors: ANCHORS_MAX,
            max_aliases: ALIASES_MAX,
            max_merge_keys: ALIASES_MAX,
            max_recorded_anchor_events: NODES_MAX,
            max_recorded_anchor_bytes: 4 * FILE_BYTES_MAX,
            max_total_scalar_bytes: 4 * FILE_BYTES_MAX,
            max_documents: 2,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODES_MAX,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        legacy_octal_numbers: false,
        reject_unsupported_tags: true,
        ignore_binary_tag_for_string: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        emit_comments: false,
        with_snippet: false,
    }
}

fn yaml_problem(error: &Error) -> Located {
    let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
    let told = error.render_with_formatter(&UserMessageFormatter);
    let told = told.strip_suffix(&format!(" at line {line}, column {column}")).unwrap_or(&told);
    let (message, hint) = match error.without_snippet() {
        Error::DuplicateMappingKey { .. } => (told, "remove one of the two"),
        Error::MultipleDocuments { .. } => {
            ("a second document begins here", "write one flow per file, without `---` in between")
        }
        Error::UnsupportedTag { .. } => (told, "remove the tag"),
        _ if is_too_much(error, told) => (
            "the file is too large, too deep, or repeats itself too often",
            "split the flow; no flow needs that many values, levels or aliases",
        ),
        _ => (told, "correct the YAML here or just before"),
    };
    Located {
        line: line.max(1),
        column: column.max(1),
        message: message.to_owned(),
        hint: hint.to_owned(),
    }
}

/// Within an alias the library wraps its own error, of which then only the text is left.
fn is_too_much(error: &Error, told: &str) -> bool {
    matches!(
        error.without_snippet(),
        Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. }
    ) || ["limits breached", "recursion limit", "replay limit", "stack depth"]
        .iter()
        .any(|sign| told.contains(sign))
}

fn json_problem(text: &str, error: &serde_json::Error) -> Located {
    let told = error.to_string();
    let ending = format!(" at line {} column {}", error.line(), error.column());
    let message = told.strip_suffix(&ending).unwrap_or(&told).to_owned();
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    // The library counts bytes, and the sign that is wrong is the last one it took.
    let before = error.column().saturating_sub(1).min(line.len());
    let before = (0..=before).rev().find_map(|end| line.get(..end)).unwrap_or_default();
    Located {
        line: u64::try_from(error.line()).unwrap_or(u64::MAX).max(1),
        column: place_after(before).column,
        message: format!("this is not JSON: {message}"),
        hint: "correct the JSON, or name the file .yaml".to_owned(),
    }
}

/// A value as the library hands it over, with the bytes it stands on.
struct Raw {
    place: Place,
    bytes: Option<Range<usize>>,
    kind: RawKind,
}

enum RawKind {
    Nothing,
    Typed(String),
    Text(String),
    List(Vec<Raw>),
    Map(Vec<(Raw, Raw)>),
}

impl Raw {
    /// Puts the spelling in the file in place of what the library made of numbers.
    fn with_spelling(self, source: &str) -> Node {
        let kind = match self.kind {
            RawKind::Nothing => Kind::Nothing,
            RawKind::Typed(value) => {
                let spelling = self.bytes.and_then(|bytes| source.get(bytes));
                Kind::Plain(spelling.map_or(value, str::to_owned))
            }
            RawKind::Text(text) => Kind::Text(text),
            RawKind::List(list) => {
                Kind::List(list.into_iter().map(|raw| raw.with_spelling(source)).collect())
            }
            RawKind::Map(map) => Kind::Map(
                map.into_iter()
                    .map(|(key, raw)| (key.with_spelling(source), raw.with_spelling(source)))
                    .collect(),
            ),
        };
        Node { place: self.place, kind }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<RawKind>::deserialize(deserializer)?;
        let span = spanned.defined.span();
        let bytes = span.byte_offset().zip(span.byte_len()).and_then(|(offset, length)| {
            let start = usize::try_from(offset).ok()?;
            Some(start..start.checked_add(usize::try_from(length).ok()?)?)
        });
        let place = Place {
            line: spanned.referenced.line().max(1),
            column: spanned.referenced.column().max(1),
        };
        Ok(Self { place, bytes, kind: spanned.value })
    }
}

impl<'de> Deserialize<'de> for RawKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Nothing)
    }

    fn visit_none<E>(self) -> Result<RawKind, E> {
        Ok(RawKind::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawKind, E> {
        Ok(RawKind::Typed(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawKind, E> {
        Ok(RawKind::Typed(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RawKind, E> {
        Ok(RawKind::Typed(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<RawKind, E> {
        Ok(RawKind::Typed(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<RawKind, E> {
        Ok(RawKind::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<RawKind, E> {
        Ok(RawKind::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<RawKind, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = access.next_element()? {
            list.push(value);
        }
        Ok(RawKind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RawKind, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(RawKind::Map(map))
    }
}
