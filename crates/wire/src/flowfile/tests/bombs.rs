//! Files made to exhaust the reader, and values made to surprise it.

use super::*;

fn first_problem(text: &str) -> String {
    read(&Source { file_name: "x.yaml", text }, Home::Server).unwrap_err().problems[0]
        .message
        .clone()
}

#[test]
fn a_file_has_a_largest_size() {
    let text = format!("- {{name: a, run: x}}\n#{}", "x".repeat(FILE_BYTES_MAX));
    assert!(first_problem(&text).contains("more than 262144"));
    let text = format!("- {{name: a, run: x}}\n#{}", "x".repeat(FILE_BYTES_MAX - 100));
    assert!(read(&Source { file_name: "x.yaml", text: &text }, Home::Server).is_ok());
}

#[test]
fn a_billion_laughs_are_refused() {
    let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for i in 1..10 {
        let before = vec![format!("*a{}", i - 1); 9].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{before}]\n"));
    }
    assert!(first_problem(&text).contains("too large, too deep"));
}

#[test]
fn a_long_text_repeated_by_alias_is_refused() {
    let text = format!("a: &a \"{}\\n\"\nb: [{}]", "x".repeat(200_000), vec!["*a"; 500].join(", "));
    assert!(first_problem(&text).contains("too large, too deep"));
}

/// Nested `depth` times, in every way YAML has.
fn nested(depth: usize) -> [String; 5] {
    let aliases = |i: usize| format!("a{}: &a{} [*a{i}]\n", i + 1, i + 1);
    [
        format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
        "- ".repeat(depth),
        "? ".repeat(depth),
        format!("{}b{}", "{a: ".repeat(depth), "}".repeat(depth)),
        format!("a0: &a0 [x]\n{}", (0..depth.min(5_000)).map(aliases).collect::<String>()),
    ]
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [20, 65, 1_000, 40_000] {
        for text in nested(depth) {
            let told = first_problem(&text);
            assert!(told.contains("too large, too deep"), "{told}: {}", &text[..40]);
        }
    }
    let json = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&Source { file_name: "x.json", text: &json }, Home::Server).is_err());
}

#[test]
fn the_deepest_file_fits_a_small_stack() {
    let read_all = || {
        for depth in 1..=64 {
            for text in nested(depth) {
                first_problem(&text);
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(read_all);
    thread.unwrap().join().unwrap();
}

#[test]
fn too_many_values_are_refused() {
    assert!(first_problem(&"- a\n".repeat(30_000)).contains("too large, too deep"));
}

#[test]
fn many_documents_are_refused() {
    assert!(!first_problem(&"---\na: b\n".repeat(20_000)).is_empty());
    assert_eq!(
        first_problem("- {name: a, run: x}\n---\n- {name: b, run: x}\n"),
        "a second document begins here"
    );
}

#[test]
fn one_document_may_be_marked() {
    let text = "%YAML 1.2\n---\n- {name: a, run: x}\n...\n";
    assert!(read(&Source { file_name: "x.yaml", text }, Home::Server).is_ok());
}

#[test]
fn an_anchor_that_holds_itself_is_refused() {
    assert!(!first_problem("tasks: &a [*a]").is_empty());
}

#[test]
fn a_name_is_what_it_is_spelled() {
    for name in ["no", "on", "off", "y", "true", "1.10", "0x1F", "1e3", ".inf", "007", "12:30"] {
        let told = json(&format!("tasks: [{{name: {name}, run: x}}]"));
        assert!(told.contains(&format!(r#""name":"{name}""#)), "{told}");
    }
}

#[test]
fn many_problems_are_told_in_part() {
    let text = format!("tasks:\n{}", "- {name: a, run: x, colour: red}\n".repeat(100));
    let error = read(&Source { file_name: "x.yaml", text: &text }, Home::Server).unwrap_err();
    assert_eq!(error.problems.len(), 51);
    assert_eq!(error.problems[50].message, "149 more problems follow");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_taken() {
    let text = "\u{feff}- name: a\r\n  run: x\r\n- name: b\r\n  run: x\r\n  tll: 1s\r\n";
    let error = read(&Source { file_name: "x.yaml", text }, Home::Server).unwrap_err();
    assert_eq!((error.problems[0].line, error.problems[0].column), (5, 3));
}
