//! Every problem stands on its line and column, and tells what to do.

use super::*;

/// The problems of a YAML file, as `line:column: message | hint`.
fn told(text: &str) -> Vec<String> {
    told_of("x.yaml", text)
}

fn told_of(file_name: &str, text: &str) -> Vec<String> {
    let error = read(&Source { file_name, text }, Home::Server).unwrap_err();
    let one = |p: &Located| format!("{}:{}: {} | {}", p.line, p.column, p.message, p.hint);
    error.problems.iter().map(one).collect()
}

/// The problems of a task `a` with one further key in its second line.
fn told_of_task(key: &str) -> Vec<String> {
    told(&format!("tasks: [{{name: a,\n  {key} }}]"))
}

#[test]
fn an_unknown_key_is_refused_with_a_guess() {
    assert_eq!(
        told("tasks:\n- name: a\n  run: x\n  depend: [b]\n"),
        ["4:3: a task has no key `depend` | did you mean `depends`?"]
    );
    assert_eq!(
        told("- {name: a, run: x, limit: {key: k, max: 1, mx: 2}}"),
        ["1:45: a limit has no key `mx` | did you mean `max`?"]
    );
    assert_eq!(
        told("tasks: [{name: a, run: x}]\non: {commit: {colour: red}}"),
        ["2:15: `on: commit` has no key `colour` | the keys are paths, ignore_authors"]
    );
}

#[test]
fn all_problems_are_told_together_in_the_order_of_the_file() {
    let text = "name: f\nordr: oldest\nmax_items: many\ntasks:\n- name: a\n  run: x\n  ttl: 8d\n\
                - name: b\n  timeout: 30\n  depends: [c]\n";
    assert_eq!(
        told(text),
        [
            "2:1: a flow has no key `ordr` | did you mean `order`?",
            "3:12: expected a whole number in decimal digits, found the text \"many\" | \
             write a whole number in decimal digits",
            "7:8: ttl is 8d | give a length from 1s to 7d",
            "8:3: the task does not say what to run | give `command`, `script` with `shell`, or \
             `run`; `run: outside` leaves it to whoever claims it",
            "9:12: a length of time needs a unit, found `30` | write 30s for seconds; the units \
             are d, h, m, s, ms, us",
            "10:13: there is no task named `c` | name a task of this flow or revision",
        ]
    );
}

/// What is written after `name: a`, a mark before what is wrong, and the problem.
const WRONG_VALUES: &str = r#"
run: x, exclusive: ^yes => expected true or false, found the text "yes"
run: x, exclusive: ^1 => expected true or false, found `1`
run: x, retries: ^'3' => expected a whole number in decimal digits, found the text "3"
run: x, retries: ^0x10 => expected a whole number in decimal digits, found `0x10`
run: x, retries: ^010 => expected a whole number in decimal digits, found `010`
run: x, retries: ^1.5 => expected a whole number in decimal digits, found `1.5`
run: x, retries: ^-1 => -1 is out of range
run: x, retries: ^99999999999999999999 => 99999999999999999999 is out of range
run: x, retries^: => expected a whole number in decimal digits, found nothing
run: x, labels: ^{a: b} => expected a name, found a map
run: x, env: ^[a] => expected a map of keys and values, found a list
run: x, env: {A: ^[1]} => expected a text, found a list
run: x, env: {A: ^~} => expected a text, found nothing
run: x, ttl: ^soon => expected a length of time such as 30s, 5m or 2h, found the text "soon"
run: x, late: ^acept => expected one of record, accept, found the text "acept"
run: x, backoff: ^10s => expected two lengths of time, such as 10s..1h, found the text "10s"
run: x, exit_codes: {^x: transient} => expected an exit code, a whole number, found the text "x"
run: x, limit: ^{key: k} => a limit without `max`
run: x, depends: [^[a]] => expected the name of a task, `PREV` or `PREV:task`, found a list
run: x, depends: [{task: b, on: ^end}] => expected one of done, settled, found the text "end"
run: ^[x] => expected a name, found a list
command: ^'a "b' => a quote " is never closed
command: ^a | b => `|` would be passed on as a word, no shell reads this command
"#;

#[test]
fn a_wrong_value_says_what_was_expected() {
    for case in WRONG_VALUES.trim().lines() {
        let (marked, problem) = case.split_once(" => ").unwrap();
        let (text, place) = without_mark(&format!("tasks: [{{name: a,\n  {marked} }}]"));
        let told = told(&text);
        let line = format!("{place}: {problem} | ");
        let found = told.iter().find(|told| told.starts_with(&line));
        assert!(found.is_some_and(|told| *told != line), "{marked}: {told:#?}");
    }
}

/// Takes out the mark `^` and tells where it stood.
fn without_mark(marked: &str) -> (String, String) {
    let (before, after) = marked.split_once('^').unwrap();
    let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
    (format!("{before}{after}"), format!("{}:{column}", before.matches('\n').count() + 1))
}

#[test]
fn a_task_runs_exactly_one_thing() {
    for (key, problem) in [
        ("command: x, run: y", "2:15: both `command` and `run`, a task runs one thing"),
        ("script: x", "2:3: `script` without `shell`"),
        ("run: x, shell: sh", "2:11: `shell` without `script`"),
        ("image: i", "1:9: the task does not say what to run"),
        ("run: x, image: i", "2:18: an image goes with `command` or `script`, not with `run`"),
    ] {
        let told = told_of_task(key);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].starts_with(&format!("{problem} | ")), "{key}: {told:#?}");
    }
}

#[test]
fn what_core_finds_stands_on_its_line() {
    for (marked, problem) in [
        ("on: {items: {success: [a],\n failed: [b, ^a]}}", "no item can have `a` both"),
        ("on: {items: {items: [x,\n ^'']}}", "the text is empty"),
        ("on:\n  schedule:\n    cron: ^daily", "cron expression has 1 fields"),
        ("on: {pairs: {rows: a, columns: ^a}}", "rows and columns are both `a`"),
        ("on: {pairs: {rows: a, columns: b}}\noffer_ttl: ^3h", "an offer of 3h does not fit"),
        ("^on: lot", "a flow `on: lot` reads no dataset"),
        ("on: lot\nsources: {a: x}\nsinks: {b: ^x}", "`x` is read and written"),
        ("max_items: ^0", "max_items is 0"),
        ("^lease: 2h", "`lease` belongs to a flow `on: pairs`"),
        ("^sinks: {a: b}", "`sinks` belongs to a flow `on: lot`"),
    ] {
        let (text, place) = without_mark(marked);
        let told = told(&format!("{text}\ntasks: [{{name: a, run: outside}}]"));
        assert!(told[0].starts_with(&format!("{place}: {problem}")), "{marked}: {told:#?}");
    }
}

#[test]
fn what_core_finds_in_a_bare_list_stands_on_its_line() {
    assert_eq!(
        told(
            "- {name: a, run: x, depends: [b]}\n- name: b\n  run: x\n  depends:\n  - PREV\n  - a\n"
        ),
        ["1:31: these wait for each other: a → b → a | remove one of these dependencies"]
    );
}

#[test]
fn what_comes_by_alias_is_told_where_it_is_used() {
    assert_eq!(
        told("tasks:\n- {name: a, run: x, ttl: &t 1m}\n- {name: b, run: x, retries: *t}\n")[0],
        "3:30: expected a whole number in decimal digits, found the text \"1m\" | \
         write a whole number in decimal digits"
    );
}

#[test]
fn columns_count_characters() {
    assert_eq!(
        told("tasks: [{name: é書, run: x, tll: 3s}]"),
        ["1:28: a task has no key `tll` | did you mean `ttl`?"]
    );
}

#[test]
fn broken_yaml_is_located() {
    for (text, problem) in [
        ("tasks: [{name: a", "1:9: unclosed bracket '{'"),
        ("a: b: c", "1:5: mapping values are not allowed in this context"),
        ("name: x\nname: y", "2:1: duplicate mapping key: name not allowed here"),
        ("tasks: !exec [a]", "1:14: unsupported tag `!exec`"),
        ("tasks: *x", "1:8: reference to unknown value"),
    ] {
        let told = told(text);
        assert!(told[0].starts_with(problem), "{text:?}: {told:#?}");
    }
}

#[test]
fn broken_json_is_located() {
    assert_eq!(
        told_of("x.json", "{\"é\": 1,\n \"ü\": nul}"),
        ["2:10: this is not JSON: expected ident | correct the JSON, or name the file .yaml"]
    );
    let yaml = told_of("x.JSON", "tasks: []");
    assert!(yaml[0].starts_with("1:2: this is not JSON"), "{yaml:#?}");
    let twice = told_of("x.json", "{\"name\": \"a\",\n \"name\": \"b\"}");
    assert!(twice[0].starts_with("2:2: duplicate mapping key"), "{twice:#?}");
}

#[test]
fn what_is_no_flow_is_refused() {
    for (text, problem) in [
        ("", "1:1: the file is empty"),
        ("# nothing yet\n", "2:1: the file is empty"),
        ("hello", "1:1: expected a flow, or a list of tasks, found the text \"hello\""),
        ("name: a", "1:1: a flow without `tasks`"),
        ("tasks: {a: b}", "1:8: expected a list of tasks, found a map"),
        ("[]", "1:1: the flow has no tasks"),
        ("- hello", "1:3: expected a task, written as a map of keys and values"),
        ("? [a, b]\n: 1\ntasks: [{name: a, run: x}]", "1:3: expected a key, found a list"),
        (
            "on: {commit: , manual: }\ntasks: [{name: a, run: x}]",
            "1:5: expected exactly one trigger",
        ),
        ("on: comit\ntasks: []", "1:5: nothing wakes a flow by the name `comit`"),
        ("on: pairs\ntasks: []", "1:5: `on: pairs` needs `rows` and `columns`"),
        ("on: schedule\ntasks: []", "1:5: `on: schedule` needs `cron`"),
        ("tasks: [{run: x}]", "1:9: a task without `name`"),
    ] {
        let told = told(text);
        assert!(told[0].starts_with(problem), "{text:?}: {told:#?}");
    }
}

#[test]
fn an_error_reads_like_a_compilers() {
    let text = "tasks:\n- {name: a, run: x, tll: 3s}\n- {name: a}\n";
    let error = read(&Source { file_name: "flows/x.yaml", text }, Home::Server).unwrap_err();
    assert_eq!(
        error.to_string(),
        "flows/x.yaml:2:21: a task has no key `tll`\n  hint: did you mean `ttl`?\n\
         flows/x.yaml:3:3: the task does not say what to run\n  hint: give `command`, `script` \
         with `shell`, or `run`; `run: outside` leaves it to whoever claims it\n\
         flows/x.yaml:3:10: a second task named `a`\n  hint: give each task of a round or \
         revision its own name"
    );
}
