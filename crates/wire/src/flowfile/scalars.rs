//! Single values and plain lists: each reads what it expects, or says what it found instead.

use std::collections::BTreeMap;

use armarius_core::Refusal;
use armarius_core::flow::check::did_you_mean;
use armarius_core::flow::codec::{Word, parse_length};
use armarius_core::ids::Span;
use armarius_core::text::{Name, Text};

use super::error::Findings;
use super::node::{Kind, Node, shown};

/// Says what was expected here.
pub(super) fn wrong(found: &mut Findings, node: &Node, expected: &str) {
    let hint = match node.kind {
        Kind::Nothing => "give a value, or remove the key".to_owned(),
        Kind::Plain(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
            format!("write {expected}")
        }
    };
    found.add(node.place, format!("expected {expected}, found {}", node.described()), hint);
}

/// Text, as it is spelled: `1.10` and `no` are texts too.
pub(super) fn text(found: &mut Findings, node: &Node) -> Option<Text> {
    let spelling = node.spelling();
    if spelling.is_none() {
        wrong(found, node, "a text");
    }
    spelling.map(Text::from)
}

/// A name within its limits.
pub(super) fn name(found: &mut Findings, node: &Node) -> Option<Name> {
    let spelling = node.spelling();
    if spelling.is_none() {
        wrong(found, node, "a name");
    }
    Name::new(spelling?).map_err(|refusal| refused(found, node, &refusal)).ok()
}

/// Passes on why core does not take a value.
pub(super) fn refused(found: &mut Findings, node: &Node, refusal: &Refusal) {
    found.add(node.place, refusal.sentence.clone(), refusal.hint.clone());
}

/// `true` or `false`, and no other spelling of them.
pub(super) fn flag(found: &mut Findings, node: &Node) -> Option<bool> {
    let value = match &node.kind {
        Kind::Plain(spelling) => match spelling.as_str() {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        },
        Kind::Nothing | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
    };
    if value.is_none() {
        wrong(found, node, "true or false");
    }
    value
}

/// A whole number in plain decimal digits.
pub(super) fn number<T: TryFrom<i64>>(found: &mut Findings, node: &Node) -> Option<T> {
    let spelling = match &node.kind {
        Kind::Plain(spelling) => spelling.as_str(),
        Kind::Nothing | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => "",
    };
    if !is_decimal(spelling) {
        wrong(found, node, "a whole number in decimal digits");
        return None;
    }
    let value = spelling.parse::<i64>().ok().and_then(|n| T::try_from(n).ok());
    if value.is_none() {
        found.add(
            node.place,
            format!("{} is out of range", shown(spelling)),
            "give a number nearer to zero, and not below it where things are counted",
        );
    }
    value
}

/// Leading zeros are no decimal digits to everybody: some readers take them for octal.
pub(super) fn is_decimal(spelling: &str) -> bool {
    let digits = spelling.strip_prefix('-').unwrap_or(spelling);
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all && (digits == "0" || !digits.starts_with('0'))
}

/// A length of time with its unit.
pub(super) fn length(found: &mut Findings, node: &Node) -> Option<Span> {
    let span = node.spelling().and_then(parse_length);
    match (span, node.spelling()) {
        (Some(_), _) => {}
        (None, Some(number)) if is_decimal(number) => found.add(
            node.place,
            format!("a length of time needs a unit, found `{}`", shown(number)),
            format!("write {}s for seconds; the units are d, h, m, s, ms, us", shown(number)),
        ),
        (None, _) => wrong(found, node, "a length of time such as 30s, 5m or 2h"),
    }
    span
}

/// One of a few words.
pub(super) fn word<W: Word>(found: &mut Findings, node: &Node) -> Option<W> {
    let choices = || W::ALL.iter().map(|choice| choice.word());
    let value = node.spelling().and_then(W::from_word);
    if value.is_none() {
        let all = format!("one of {}", choices().collect::<Vec<_>>().join(", "));
        let hint =
            did_you_mean(node.spelling().unwrap_or_default(), choices(), &format!("write {all}"));
        found.add(node.place, format!("expected {all}, found {}", node.described()), hint);
    }
    value
}

/// A list, or a single entry in its place. An entry that cannot be read is lost.
pub(super) fn list<'n, T>(
    found: &mut Findings,
    node: &'n Node,
    read: impl Fn(&mut Findings, &'n Node) -> Option<T>,
) -> Option<Vec<T>> {
    let entries = match &node.kind {
        Kind::List(entries) => entries.as_slice(),
        Kind::Nothing => {
            wrong(found, node, "a list");
            return None;
        }
        Kind::Plain(_) | Kind::Text(_) | Kind::Map(_) => std::slice::from_ref(node),
    };
    let mut out = Vec::with_capacity(entries.len());
    for entry in entries {
        match read(found, entry) {
            Some(value) => out.push(value),
            None => found.lost(),
        }
    }
    Some(out)
}

/// A list of names.
pub(super) fn names(found: &mut Findings, node: &Node) -> Option<Vec<Name>> {
    list(found, node, name)
}

/// A list of texts.
pub(super) fn texts(found: &mut Findings, node: &Node) -> Option<Vec<Text>> {
    list(found, node, text)
}

/// A map whose keys the author chose.
pub(super) fn map<'n, K: Ord, V>(
    found: &mut Findings,
    node: &'n Node,
    key_of: impl Fn(&mut Findings, &'n Node) -> Option<K>,
    read: impl Fn(&mut Findings, &'n Node) -> Option<V>,
) -> Option<BTreeMap<K, V>> {
    let Kind::Map(entries) = &node.kind else {
        wrong(found, node, "a map of keys and values");
        return None;
    };
    let mut out = BTreeMap::new();
    for (key_node, value) in entries {
        let key = key_of(found, key_node);
        let value = read(found, value);
        if let (Some(key), Some(value)) = (key, value)
            && out.insert(key, value).is_some()
        {
            found.add(key_node.place, "the same key a second time", "remove one of the two");
        }
    }
    Some(out)
}
