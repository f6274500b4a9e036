//! Definitions as text in, problems as text out.

mod line;
mod together;
mod triggers;

use super::super::codec;
use super::*;
use crate::text::Name;

fn flow(json: &str) -> Flow {
    let mut flow = codec::from_text(json).unwrap();
    normalise(&mut flow);
    flow
}

/// The problems of a flow, as `place: message`.
fn problems(json: &str) -> Vec<String> {
    let told = |p: Problem| format!("{}: {}", p.place(), p.message);
    check(&flow(json)).into_iter().map(told).collect()
}

/// The problems of a flow with the given trigger and steps.
fn of_steps(on: &str, steps: &str) -> Vec<String> {
    problems(&format!(r#"{{"name":"f","on":"{on}","tasks":[{steps}]}}"#))
}

/// The problems of one step `a` with the given further fields.
fn of_step(fields: &str) -> Vec<String> {
    of_steps("manual", &format!(r#"{{"name":"a",{fields}}}"#))
}

/// The problems of a flow with one harmless step and the given further fields.
fn of_flow(fields: &str) -> Vec<String> {
    problems(&format!(r#"{{"name":"f",{fields},"tasks":[{{"name":"a","run":"outside"}}]}}"#))
}

fn hint(json: &str) -> String {
    check(&flow(json)).remove(0).hint
}

/// Problems of several commit files, as `file: place: message`.
fn of_files(files: &[&str]) -> Vec<String> {
    let file = |(i, steps): (usize, &&str)| {
        flow(&format!(r#"{{"name":"f{i}","on":"commit","tasks":[{steps}]}}"#))
    };
    let flows: Vec<Flow> = files.iter().enumerate().map(file).collect();
    let told = |(i, p): (usize, Problem)| format!("{i}: {}: {}", p.place(), p.message);
    check_together(&flows).into_iter().map(told).collect()
}

const NOTHING: &[&str] = &[];

#[test]
fn the_flow_of_the_queue_document_is_right() {
    let steps = r#"{"name":"indexing","depends":["PREV"],"command":["index"]},
        {"name":"build-PDF","depends":["indexing"],"cancels":["PREV"],"command":["build"]}"#;
    assert_eq!(of_steps("commit", steps), NOTHING);
    assert_eq!(of_files(&[steps]), NOTHING);
}

#[test]
fn a_flow_has_tasks() {
    assert_eq!(problems(r#"{"name":"f"}"#), ["tasks: the flow has no tasks"]);
}

#[test]
fn a_flow_has_at_most_so_many_tasks() {
    let mut long = Flow::manual(Name::trusted("f"));
    for i in 0..=limits::STEPS_MAX {
        long.tasks.push(super::super::Step::outside(Name::trusted(&format!("s{i}"))));
    }
    let told: Vec<_> = check(&long).into_iter().map(|p| (p.place(), p.message)).collect();
    assert_eq!(told, [("tasks[200]".to_owned(), "201 tasks, more than 200".to_owned())]);
}

#[test]
fn names_are_given_once() {
    assert_eq!(
        of_steps("manual", r#"{"name":"a","run":"x"},{"name":"a","run":"y"}"#),
        ["tasks[1].name: a second task named `a`"]
    );
}

#[test]
fn an_unknown_name_is_refused_with_a_guess() {
    let json = r#"{"name":"f","tasks":[{"name":"indexing","run":"x"},
        {"name":"b","depends":["indexin"],"run":"y"}]}"#;
    assert_eq!(problems(json), ["tasks[1].depends[0]: there is no task named `indexin`"]);
    assert_eq!(hint(json), "did you mean `indexing`?");
}

#[test]
fn an_unknown_name_in_cancels_is_refused() {
    assert_eq!(
        of_steps("manual", r#"{"name":"a","cancels":["zzz"],"run":"x"}"#),
        ["tasks[0].cancels[0]: there is no task named `zzz`"]
    );
}

#[test]
fn a_circle_is_named_whole() {
    assert_eq!(
        of_steps(
            "manual",
            r#"{"name":"z","run":"x"},{"name":"c","depends":["z","a"],"run":"x"},
               {"name":"a","depends":["b"],"run":"x"},{"name":"b","depends":["c"],"run":"x"},
               {"name":"d","depends":["c"],"run":"x"}"#
        ),
        ["tasks[1].depends[1]: these wait for each other: c → a → b → c"]
    );
}

#[test]
fn two_circles_are_both_named() {
    assert_eq!(
        of_steps(
            "manual",
            r#"{"name":"a","depends":["b"],"run":"x"},{"name":"b","depends":["a"],"run":"x"},
               {"name":"c","depends":["d"],"run":"x"},{"name":"d","depends":["c","a"],"run":"x"}"#
        ),
        [
            "tasks[0].depends[0]: these wait for each other: a → b → a",
            "tasks[2].depends[0]: these wait for each other: c → d → c",
        ]
    );
}

#[test]
fn a_long_chain_is_no_circle() {
    let step = |i: usize| match i {
        0 => r#"{"name":"s0","run":"x"}"#.to_owned(),
        i => format!(r#"{{"name":"s{i}","depends":["s{}"],"run":"x"}}"#, i - 1),
    };
    let steps: Vec<_> = (0..limits::STEPS_MAX).map(step).collect();
    assert_eq!(of_steps("manual", &steps.join(",")), NOTHING);
}

#[test]
fn a_step_does_not_depend_on_itself() {
    let step = r#"{"name":"a","depends":["a"],"run":"x"}"#;
    assert_eq!(of_steps("commit", step), ["tasks[0].depends[0]: `a` names itself"]);
}

#[test]
fn a_step_does_not_cancel_what_it_depends_on() {
    assert_eq!(
        of_steps(
            "manual",
            r#"{"name":"a","run":"x"},{"name":"b","depends":["a"],"cancels":["a"],"run":"x"}"#
        ),
        ["tasks[1].cancels[0]: `b` cancels `a`, on which it depends"]
    );
}

#[test]
fn nor_what_it_depends_on_by_way_of_others() {
    assert_eq!(
        of_steps(
            "commit",
            r#"{"name":"a","depends":["PREV"],"run":"x"},{"name":"b","depends":["a"],"run":"x"},
               {"name":"c","depends":["b"],"cancels":["PREV:a"],"run":"x"}"#
        ),
        ["tasks[2].cancels[0]: `c` cancels `PREV:a`, on which it depends by way of c → b → a"]
    );
}

#[test]
fn previous_revisions_exist_only_on_commit() {
    for reference in ["PREV", "PREV:a"] {
        let step = format!(r#"{{"name":"a","depends":["{reference}"],"run":"x"}}"#);
        assert_eq!(
            of_steps("manual", &step),
            ["tasks[0].depends[0]: only a flow with `on: commit` has previous revisions"]
        );
        assert_eq!(of_steps("commit", &step), NOTHING);
    }
}

#[test]
fn a_task_is_not_named_like_a_reference() {
    let mut wrong = flow(r#"{"name":"f","tasks":[{"name":"a","run":"x"}]}"#);
    for name in ["PREV", "PREV:a"] {
        wrong.tasks[0].name = Name::trusted(name);
        assert_eq!(check(&wrong)[0].place(), "tasks[0].name");
    }
}

#[test]
fn commit_may_have_depends() {
    let step = r#"{"name":"COMMIT","depends":["PREV:a"],"run":"outside"},{"name":"a","run":"x"}"#;
    assert_eq!(of_steps("commit", step), NOTHING);
}

#[test]
fn commit_may_have_nothing_else() {
    assert_eq!(
        of_steps("commit", r#"{"name":"COMMIT","run":"outside","priority":3}"#),
        ["tasks[0]: `COMMIT` may have `depends` and nothing else"]
    );
}

#[test]
fn commit_waits_for_no_task_of_its_own_revision() {
    assert_eq!(
        of_steps(
            "commit",
            r#"{"name":"COMMIT","depends":["a"],"run":"outside"},{"name":"a","run":"x"}"#
        ),
        ["tasks[0].depends[0]: every task depends on COMMIT, a circle: COMMIT → a → COMMIT"]
    );
}

#[test]
fn commit_is_the_name_of_no_other_task() {
    assert_eq!(
        of_steps("manual", r#"{"name":"COMMIT","run":"outside"}"#),
        ["tasks[0].name: `COMMIT` is the name of the task that every revision has"]
    );
}

#[test]
fn commit_is_not_cancelled() {
    assert_eq!(
        of_steps("commit", r#"{"name":"a","cancels":["PREV:COMMIT"],"run":"x"}"#),
        ["tasks[0].cancels[0]: `COMMIT` cannot be cancelled, later revisions wait for it"]
    );
}

#[test]
fn commit_may_be_depended_on_without_being_written() {
    assert_eq!(
        of_files(&[r#"{"name":"a","depends":["COMMIT","PREV:COMMIT"],"run":"x"}"#]),
        NOTHING
    );
}

#[test]
fn what_is_wrong_with_one_step() {
    for (fields, problem) in [
        (r#""command":[]"#, "tasks[0].command: the command names no program"),
        (r#""command":["a\u0000"]"#, "tasks[0].command[0]: the text contains a NUL character"),
        (r#""script":" ","shell":"sh""#, "tasks[0].script: the text is empty"),
        (r#""script":"x","shell":"""#, "tasks[0].shell: the text is empty"),
        (
            r#""run":"x","image":"i""#,
            "tasks[0].image: an image goes with `command` or `script`, not with `run`",
        ),
        (
            r#""run":"x","timeout":"0s""#,
            "tasks[0].timeout: timeout is 0s, which leaves no time at all",
        ),
        (
            r#""run":"x","progress_timeout":"2h""#,
            "tasks[0].progress_timeout: silence of 2h is never reached, the timeout is 1h",
        ),
        (r#""run":"x","ttl":"8d""#, "tasks[0].ttl: ttl is 8d"),
        (r#""run":"x","ttl":"999ms""#, "tasks[0].ttl: ttl is 999ms"),
        (r#""run":"x","priority":1000001"#, "tasks[0].priority: priority is 1000001"),
        (r#""run":"x","retries":1001"#, "tasks[0].retries: retries is 1001"),
        (
            r#""run":"x","backoff":"1h..10s""#,
            "tasks[0].backoff: back-off from 1h to 10s goes backwards",
        ),
        (
            r#""run":"x","exit_codes":{"256":"transient"}"#,
            "tasks[0].exit_codes.256: exit code is 256",
        ),
        (
            r#""run":"x","limit":{"key":"host","max":0}"#,
            "tasks[0].limit.max: a limit of 0 would let nothing run",
        ),
        (r#""run":"x","labels":["gpu","gpu"]"#, "tasks[0].labels[1]: `gpu` is named twice"),
    ] {
        assert_eq!(of_step(fields), [problem], "{fields}");
    }
}

#[test]
fn an_image_is_never_taken_for_an_option() {
    assert_eq!(
        of_step(r#""command":["x"],"image":"--privileged""#),
        ["tasks[0].image: `--privileged` is not the name of an image"]
    );
}

#[test]
fn an_environment_variable_has_no_equals_sign_in_its_name() {
    assert_eq!(
        of_step(r#""run":"x","env":{"A=B":"1"}"#),
        [r#"tasks[0].env.A=B: "A=B" cannot be the name of an environment variable"#]
    );
}

#[test]
fn a_workdir_stays_below_the_tasks_own() {
    for workdir in ["../x", "/etc", "a/../../b"] {
        assert_eq!(
            of_step(&format!(r#""run":"x","workdir":"{workdir}""#)),
            [format!("tasks[0].workdir: `{workdir}` leads out of the task's own directory")]
        );
    }
}

#[test]
fn a_step_has_so_many_labels() {
    let labels: Vec<_> = (0..=limits::LABELS_MAX).map(|i| format!("\"l{i}\"")).collect();
    let fields = format!(r#""run":"x","labels":[{}]"#, labels.join(","));
    assert_eq!(of_step(&fields), ["tasks[0].labels: 65 labels, more than 64"]);
}

#[test]
fn exclusive_needs_an_archive() {
    let step = r#"{"name":"a","exclusive":true,"run":"x"}"#;
    assert_eq!(of_steps("commit", step), NOTHING);
    assert_eq!(
        of_steps("submission", step),
        ["tasks[0].exclusive: `exclusive` holds an archive's lock, and this flow has no archive"]
    );
}
