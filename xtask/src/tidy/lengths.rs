//! Files and functions short enough to be read in one go.

use super::Finding;
use super::tree::{File, Tree};

/// Lines of a file without its closing `mod tests`.
const FILE_LINES_MAX: usize = 600;
/// Lines of a file with everything.
const FILE_LINES_WITH_TESTS_MAX: usize = 700;
/// Lines of a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// The way to say that a function is better long.
const PLEA: &str = "// tidy: long because ";

/// Looks at every Rust source.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|file| file_length(file).into_iter().chain(functions(file))).collect()
}

fn file_length(file: &File) -> Option<Finding> {
    let total = file.text.lines().count();
    let tests = file.masks.code.find("#[cfg(test)]\nmod tests");
    let own =
        if is_all_tests(file) { 0 } else { tests.map_or(total, |offset| file.line_of(offset) - 1) };
    let advice = if own > FILE_LINES_MAX {
        format!("{own} lines, at most {FILE_LINES_MAX}; give one of its ideas a file of its own")
    } else if total > FILE_LINES_WITH_TESTS_MAX {
        format!(
            "{total} lines with tests, at most {FILE_LINES_WITH_TESTS_MAX}; \
             divide the tests, or move them into tests/it/"
        )
    } else {
        return None;
    };
    Some(file.finding(total, "file-length", advice))
}

fn is_all_tests(file: &File) -> bool {
    file.stem() == "tests" || file.path.split('/').any(|part| part == "tests")
}

fn functions(file: &File) -> Vec<Finding> {
    let code = file.masks.code.as_str();
    let mut findings = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let Some(name) = name_of_function(code, start) else {
            continue;
        };
        let Some(end) = end_of_function(code, start) else {
            continue;
        };
        let (first, last) = (file.line_of(start), file.line_of(end));
        let lines = last - first + 1;
        if lines > FUNCTION_LINES_MAX && !has_plea(file, first) {
            let advice = format!(
                "{name} has {lines} lines, at most {FUNCTION_LINES_MAX}; split it, \
                 or say why not directly above it: {PLEA}\u{2026}"
            );
            findings.push(file.finding(first, "function-length", advice));
        }
    }
    findings
}

/// The name after `fn `, if a function is defined there.
fn name_of_function(code: &str, start: usize) -> Option<&str> {
    let before = code[..start].chars().next_back();
    if before.is_some_and(is_name_char) {
        return None;
    }
    let rest = code[start + 3..].trim_start();
    let name = &rest[..rest.find(|c| !is_name_char(c)).unwrap_or(rest.len())];
    (!name.is_empty()).then_some(name)
}

/// The byte of the closing brace; none for a function without a body.
fn end_of_function(code: &str, start: usize) -> Option<usize> {
    let mut round = 0_i32;
    let mut curly = 0_i32;
    for (offset, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if round == 0 && curly == 0 => return None,
            b'{' => curly += 1,
            b'}' => {
                curly -= 1;
                if curly == 0 && round == 0 {
                    return Some(offset);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether the comments and attributes directly above a line hold a plea with a reason.
fn has_plea(file: &File, first: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().take(first - 1).collect();
    let above = lines.iter().rev().map(|line| line.trim());
    above
        .take_while(|line| line.starts_with("//") || line.starts_with("#["))
        .any(|line| line.strip_prefix(PLEA).is_some_and(|reason| reason.trim().len() > 3))
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    fn check_text(text: &str) -> String {
        report(check, &[("crates/x/src/a.rs", text)])
    }

    fn function(lines: usize) -> String {
        format!("fn slow() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    #[test]
    fn long_file_is_found() {
        assert_eq!(
            check_text(&"// line\n".repeat(601)),
            "crates/x/src/a.rs:601: file-length: 601 lines, at most 600; \
             give one of its ideas a file of its own"
        );
        assert_eq!(check_text(&"// line\n".repeat(600)), "");
    }

    #[test]
    fn tests_at_the_end_have_a_hundred_lines_more() {
        let code = "// line\n".repeat(590);
        let tests = |lines| format!("{code}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(lines));
        assert_eq!(check_text(&tests(100)), "");
        assert_eq!(
            check_text(&tests(108)),
            "crates/x/src/a.rs:701: file-length: 701 lines with tests, at most 700; \
             divide the tests, or move them into tests/it/"
        );
    }

    #[test]
    fn files_of_tests_alone_have_the_larger_limit() {
        for path in ["crates/x/src/a/tests.rs", "crates/x/tests/it/a.rs"] {
            assert_eq!(report(check, &[(path, &"// line\n".repeat(700))]), "");
            assert!(report(check, &[(path, &"// line\n".repeat(701))]).contains("file-length"));
        }
    }

    #[test]
    fn long_function_is_found() {
        assert_eq!(check_text(&function(70)), "");
        assert_eq!(
            check_text(&function(71)),
            "crates/x/src/a.rs:1: function-length: slow has 71 lines, at most 70; split it, \
             or say why not directly above it: // tidy: long because \u{2026}"
        );
    }

    #[test]
    fn long_function_may_say_why() {
        let reasoned =
            format!("// tidy: long because it is one table\n#[must_use]\n{}", function(99));
        assert_eq!(check_text(&reasoned), "");
        let empty = format!("// tidy: long because \n{}", function(99));
        assert!(check_text(&empty).contains("function-length"));
        let elsewhere = format!("// tidy: long because it is one table\n\n{}", function(99));
        assert!(check_text(&elsewhere).contains("function-length"));
    }

    #[test]
    fn braces_in_texts_and_arrays_in_signatures_do_not_mislead() {
        let text = format!(
            "fn short(a: [u8; 4]) -> [u8; 2] {{\n    f(\"{{\", '{{')\n}}\n{}",
            "// line\n".repeat(100)
        );
        assert_eq!(check_text(&text), "");
        let bodiless = format!("trait T {{\n    fn a(&self);\n{}}}\n", "\n".repeat(100));
        assert_eq!(check_text(&bodiless), "");
        let pointer = format!("const F: fn (u8) = f;\nmod m {{\n{}}}\n", "\n".repeat(100));
        assert_eq!(check_text(&pointer), "");
    }
}
