//! Whatever the file holds, reading it ends in a flow or in problems that point into the file.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::node::{Kind, Node};
use super::*;

const PIECES: [&str; 40] = [
    "name", "tasks", "on", "depends", "cancels", "command", "script", "shell", "run", "PREV",
    "PREV:a", "COMMIT", ": ", ":", "- ", "\n", "\n  ", "\n- ", "[", "]", "{", "}", ", ", "&a ",
    "*a", "<<: ", "!!str ", "!x ", "|\n", ">\n", "'", "\"", "\\", "#", "---\n", "...", "30s",
    "10s..1h", "\t", "é",
];

const VALID: &str = "name: f\non: {items: {kinds: [page], success: [scan]}}\nrecords: ocr\n\
    tasks:\n- name: a\n  command: tesseract 'a b' $FILE\n  env: {LANG: C, V: 1.10}\n  ttl: 1m\n\
    - name: b\n  depends: [{task: a, on: settled}]\n  script: |\n    echo hi\n  shell: bash\n  \
    backoff: 1s..5m\n  exit_codes: {3: transient}\n  limit: {key: host, max: 2}\n";

/// What may end a line in YAML.
const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Reads as each kind of file and checks what every answer must hold.
fn check_answers(text: &str) {
    for file_name in ["x.yaml", "x.json", ""] {
        for home in [Home::Archive, Home::Server] {
            match read(&Source { file_name, text }, home) {
                Ok(flow) => {
                    assert_eq!(codec::from_text(&codec::to_text(&flow)), Ok(flow));
                }
                Err(error) => {
                    assert!(!error.problems.is_empty());
                    let lines = u64::try_from(text.matches(BREAKS).count()).unwrap() + 1;
                    for problem in &error.problems {
                        assert!((1..=lines).contains(&problem.line), "{problem:?}");
                        assert!(problem.column >= 1 && !problem.message.is_empty());
                    }
                }
            }
        }
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&PIECES[..])
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[ -~é]{0,8}", inner), 0..4)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

/// Whether the tree holds what the JSON holds.
fn same(node: &Node, value: &Value) -> bool {
    match (&node.kind, value) {
        (Kind::Nothing, Value::Null) => true,
        (Kind::Plain(text), Value::Bool(_) | Value::Number(_)) => text == &value.to_string(),
        (Kind::Text(text), Value::String(other)) => text == other,
        (Kind::List(list), Value::Array(others)) => {
            list.len() == others.len() && list.iter().zip(others).all(|(a, b)| same(a, b))
        }
        (Kind::Map(map), Value::Object(others)) => {
            map.len() == others.len()
                && others
                    .iter()
                    .all(|(key, value)| node.get(key).is_some_and(|inner| same(inner, value)))
        }
        (Kind::Nothing | Kind::Plain(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_), _) => false,
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in vec(any::<u8>(), 0..300)) {
        check_answers(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        check_answers(&text);
    }

    #[test]
    fn pieces_of_flow_files_are_answered(pieces in vec(piece(), 0..60)) {
        check_answers(&pieces.concat());
    }

    #[test]
    fn a_changed_flow_file_is_answered(
        cuts in vec((any::<prop::sample::Index>(), 0_usize..6, piece()), 1..6)
    ) {
        let mut signs: Vec<char> = VALID.chars().collect();
        for (at, length, piece) in cuts {
            let start = at.index(signs.len() + 1);
            let end = (start + length).min(signs.len());
            signs.splice(start..end, piece.chars());
        }
        check_answers(&signs.into_iter().collect::<String>());
    }

    #[test]
    fn json_is_read_as_json(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        match yaml::parse(&Source { file_name: "x.json", text: &text }) {
            Ok(node) => prop_assert!(same(&node, &value), "{text}: {node:?}"),
            // Signs that YAML does not allow even in quotes are refused, never changed.
            Err(problem) => prop_assert!(
                text.chars().any(|c| !(' '..='~').contains(&c) && c != '\n'), "{text}: {problem:?}"
            ),
        }
    }
}

#[test]
fn the_unchanged_flow_file_is_right() {
    assert!(read(&Source { file_name: "x.yaml", text: VALID }, Home::Server).is_ok());
}
