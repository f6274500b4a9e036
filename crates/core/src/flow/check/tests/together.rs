//! Several files of one revision.

use super::*;

#[test]
fn an_unknown_name_of_a_commit_file_may_stand_in_another() {
    let b = r#"{"name":"b","depends":["a","PREV:a"],"cancels":["PREV"],"run":"x"}"#;
    assert_eq!(of_steps("commit", b), NOTHING);
    assert_eq!(of_files(&[r#"{"name":"a","run":"x"}"#, b]), NOTHING);
    assert_eq!(
        of_files(&[r#"{"name":"aa","run":"x"}"#, b]),
        [
            "1: tasks[0].depends[0]: there is no task named `a`",
            "1: tasks[0].depends[1]: there is no task named `a`",
        ]
    );
}

#[test]
fn names_are_given_once_across_files() {
    let a = r#"{"name":"a","run":"x"}"#;
    assert_eq!(of_files(&[a, a]), ["1: tasks[0].name: a second task named `a`"]);
}

#[test]
fn a_circle_across_files_is_found() {
    assert_eq!(
        of_files(&[
            r#"{"name":"a","depends":["b"],"run":"x"}"#,
            r#"{"name":"b","depends":["a"],"run":"x"}"#
        ]),
        ["0: tasks[0].depends[0]: these wait for each other: a → b → a"]
    );
}

#[test]
fn a_circle_within_one_file_is_not_told_twice() {
    let circle = r#"{"name":"a","depends":["b"],"run":"x"},{"name":"b","depends":["a"],"run":"x"}"#;
    assert_eq!(of_steps("commit", circle).len(), 1);
    assert_eq!(of_files(&[circle, r#"{"name":"c","run":"x"}"#]), NOTHING);
}

#[test]
fn cancelling_across_files_what_is_depended_on_is_found() {
    assert_eq!(
        of_files(&[
            r#"{"name":"c","depends":["b"],"cancels":["a"],"run":"x"},{"name":"a","run":"x"}"#,
            r#"{"name":"b","depends":["a"],"run":"x"}"#
        ]),
        ["0: tasks[0].cancels[0]: `c` cancels `a`, on which it depends by way of c → b"]
    );
}

#[test]
fn one_revision_has_at_most_so_many_tasks() {
    let file = |f: usize| {
        let step = |i: usize| format!(r#"{{"name":"s{f}-{i}","run":"x"}}"#);
        (0..limits::STEPS_MAX).map(step).collect::<Vec<_>>().join(",")
    };
    let files: Vec<String> = (0..11).map(file).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    assert_eq!(of_files(&files), ["10: tasks: 2200 tasks in one revision, more than 2000"]);
    assert_eq!(of_files(&files[..10]), NOTHING);
}

#[test]
fn flows_of_one_revision_have_different_names() {
    let flows = [flow(r#"{"name":"f"}"#), flow(r#"{"name":"g"}"#), flow(r#"{"name":"f"}"#)];
    let told: Vec<_> = check_together(&flows).iter().map(|(i, p)| format!("{i}: {p}")).collect();
    assert_eq!(told, ["2: name: a second flow named `f`; give each flow its own name"]);
}
