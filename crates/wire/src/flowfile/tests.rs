//! Files as text in, flows or problems as text out.

mod bombs;
mod examples;
mod places;
mod random;

use armarius_core::flow::codec;

use super::*;

/// The canonical JSON of a YAML file on the server.
fn json(text: &str) -> String {
    match read(&Source { file_name: "flows/x.yaml", text }, Home::Server) {
        Ok(flow) => codec::to_text(&flow),
        Err(error) => error.to_string(),
    }
}

/// The canonical JSON of a flow whose one task has the given further keys.
fn json_of_task(keys: &str) -> String {
    let told = json(&format!("tasks: [{{name: a, {keys}}}]"));
    let task = told.strip_prefix(r#"{"name":"x","tasks":[{"#);
    task.and_then(|t| t.strip_suffix("}]}")).unwrap_or(&told).to_owned()
}

/// The canonical JSON of a flow with the given further keys.
fn json_of_flow(keys: &str) -> String {
    let told = json(&format!("{keys}\ntasks: [{{name: a, run: outside}}]"));
    told.replace(r#","tasks":[{"name":"a","run":"outside"}]"#, "")
}

#[test]
fn a_bare_list_is_a_flow_on_commit_named_like_its_file() {
    let text = "- name: indexing\n  depends:\n    - PREV\n    # a remark\n  command: index\n\
                - name: build-PDF\n  depends:\n    - indexing\n  cancels:\n    - PREV\n  \
                image: image/tag\n  script: |\n    some command\n    other\n  shell: bash\n";
    let source = Source { file_name: "_workflows/publish.pdf.yaml", text };
    let flow = read(&source, Home::Archive).unwrap();
    assert_eq!(flow, read(&source, Home::Server).unwrap());
    assert_eq!(
        codec::to_text(&flow),
        concat!(
            r#"{"name":"publish.pdf","on":"commit","tasks":["#,
            r#"{"command":["index"],"depends":["PREV"],"name":"indexing"},"#,
            r#"{"cancels":["PREV"],"depends":["indexing"],"image":"image/tag","#,
            r#""name":"build-PDF","script":"some command\nother\n","shell":"bash"}]}"#
        )
    );
}

#[test]
fn home_decides_what_wakes_a_flow_that_does_not_say() {
    let source = Source { file_name: "x.yml", text: "tasks: [{name: a, run: outside}]" };
    assert!(codec::to_text(&read(&source, Home::Archive).unwrap()).contains(r#""on":"commit""#));
    assert!(!codec::to_text(&read(&source, Home::Server).unwrap()).contains("on\":"));
}

#[test]
fn every_trigger_can_be_written() {
    for (on, expected) in [
        ("commit", r#""commit""#),
        (
            "{commit: {paths: [src/**], ignore_authors: robot}}",
            r#"{"commit":{"ignore_authors":["robot"],"paths":["src/**"]}}"#,
        ),
        ("items", r#""items""#),
        (
            "{items: {kinds: [page], types: t, success: [a], failed: [b], absent: [c], \
             stale: [d], items: [7]}}",
            concat!(
                r#"{"items":{"absent":["c"],"failed":["b"],"items":["7"],"kinds":["page"],"#,
                r#""stale":["d"],"success":["a"],"types":["t"]}}"#
            ),
        ),
        ("submission", r#""submission""#),
        ("{submission: }", r#""submission""#),
        ("{schedule: {cron: 0 3 * * *}}", r#"{"schedule":{"cron":"0 3 * * *","tz":"UTC"}}"#),
        (
            "{schedule: {cron: '@daily', tz: Europe/Rome, missed: all, overlap: replace}}",
            concat!(
                r#"{"schedule":{"cron":"@daily","missed":"all","overlap":"replace","#,
                r#""tz":"Europe/Rome"}}"#
            ),
        ),
    ] {
        let told = json_of_flow(&format!("on: {on}"));
        assert_eq!(told, format!(r#"{{"name":"x","on":{expected}}}"#), "{on}");
    }
    assert_eq!(json_of_flow("on: manual"), r#"{"name":"x"}"#);
}

#[test]
fn pairs_get_their_defaults() {
    assert_eq!(
        json_of_flow("on: {pairs: {rows: episode, columns: clip}}"),
        concat!(
            r#"{"bundle":"item","lease":"2h","max_columns":100,"name":"x","offer_ttl":"1h","#,
            r#""on":{"pairs":{"columns":"clip","rows":"episode"}}}"#
        )
    );
    let told = json_of_flow("on: {pairs: {rows: r, columns: c}}\nlease: 30m\nbundle: none");
    assert!(told.contains(r#""lease":"30m","#) && told.contains(r#""offer_ttl":"15m""#), "{told}");
    assert!(told.contains(r#""bundle":"none""#), "{told}");
}

#[test]
fn lots_name_their_roles() {
    assert_eq!(
        json_of_flow(
            "on: lot\nsources: {main: scans}\nsinks: {out: text}\nparts: [year, month]\n\
             on_empty: run"
        ),
        concat!(
            r#"{"name":"x","on":"lot","on_empty":"run","parts":["year","month"],"#,
            r#""sinks":{"out":"text"},"sources":{"main":"scans"}}"#
        )
    );
    let whole = json_of_flow("on: lot\nsources: {main: scans}\nparts: whole");
    assert_eq!(whole, r#"{"name":"x","on":"lot","sinks":{},"sources":{"main":"scans"}}"#);
}

#[test]
fn every_key_of_a_flow_is_read() {
    assert_eq!(
        json_of_flow(
            "name: ocr\norder: newest\nrecords: text\ntouches: true\nsingleton: true\n\
             max_items: 5\nconcurrency: 2"
        ),
        concat!(
            r#"{"concurrency":2,"max_items":5,"name":"ocr","order":"newest","records":"text","#,
            r#""singleton":true,"touches":true}"#
        )
    );
}

#[test]
fn a_robot_becomes_stale_on_its_own_event() {
    let told = json_of_flow("on: {items: {kinds: page}}\nrecords: ocr");
    assert!(told.contains(r#""stale":["ocr"]"#), "{told}");
}

#[test]
fn every_key_of_a_task_is_read() {
    for (keys, expected) in [
        ("run: outside", r#""name":"a","run":"outside""#),
        ("command: [convert, a b, 5]", r#""command":["convert","a b","5"],"name":"a""#),
        ("command: convert 'a b' $FILE", r#""command":["convert","a b","$FILE"],"name":"a""#),
        ("script: x, shell: sh", r#""name":"a","script":"x","shell":"sh""#),
        ("image: i, command: x", r#""command":["x"],"image":"i","name":"a""#),
        (
            "run: x, env: {V: 1.10, NO: no, T: true, O: 010}",
            r#""env":{"NO":"no","O":"010","T":"true","V":"1.10"},"name":"a","run":"x""#,
        ),
        (
            "run: x, secrets: s, labels: [gpu]",
            r#""labels":["gpu"],"name":"a","run":"x","secrets":["s"]"#,
        ),
        ("run: x, params: {dpi: 300}", r#""name":"a","params":{"dpi":"300"},"run":"x""#),
        (
            "run: x, source: true, workdir: w, exclusive: true",
            r#""exclusive":true,"name":"a","run":"x","source":true,"workdir":"w""#,
        ),
        (
            "run: x, priority: -5, timeout: 90m, progress_timeout: 1m30s, ttl: 2m",
            concat!(
                r#""name":"a","priority":-5,"progress_timeout":"90s","run":"x","#,
                r#""timeout":"90m","ttl":"2m""#
            ),
        ),
        (
            "run: x, retries: 3, backoff: 5s..2h",
            r#""backoff":"5s..2h","name":"a","retries":3,"run":"x""#,
        ),
        ("run: x, backoff: {min: 1s, max: 1m}", r#""backoff":"1s..1m","name":"a","run":"x""#),
        (
            "run: x, exit_codes: {3: transient, '4': not-yet}, late: accept",
            concat!(
                r#""exit_codes":{"3":"transient","4":"not-yet"},"late":"accept","#,
                r#""name":"a","run":"x""#
            ),
        ),
        (
            "run: x, limit: {key: host, max: 2}",
            r#""limit":{"key":"host","max":2},"name":"a","run":"x""#,
        ),
    ] {
        assert_eq!(json_of_task(keys), expected, "{keys}");
    }
}

#[test]
fn every_form_of_reference_is_read() {
    let text = "on: commit\ntasks:\n- {name: a, run: x}\n- name: b\n  run: x\n  depends: \
                [a, PREV, 'PREV:a', {task: COMMIT, on: settled}]\n  cancels: PREV:c\n";
    let told = json(text);
    assert!(
        told.contains(r#""depends":["a","PREV","PREV:a",{"on":"settled","task":"COMMIT"}]"#),
        "{told}"
    );
    assert!(told.contains(r#""cancels":["PREV:c"]"#), "{told}");
}

#[test]
fn commit_needs_nothing_to_run() {
    let told = json("- {name: COMMIT, depends: 'PREV:a'}\n- {name: a, run: x}");
    assert!(told.contains(r#"{"depends":["PREV:a"],"name":"COMMIT","run":"outside"}"#), "{told}");
}

#[test]
fn the_key_on_is_never_a_truth_value() {
    assert_eq!(json_of_flow("on: manual"), json_of_flow("'on': manual"));
    let told = json_of_flow("true: manual");
    assert!(told.contains("a flow has no key `true`\n  hint: did you mean `on`?"), "{told}");
}

#[test]
fn canonical_json_is_a_flow_file() {
    let text = "on: {items: {success: a}}\nrecords: b\ntasks:\n- {name: s, command: x y}\n\
                - {name: t, run: u, depends: {task: s, on: settled}, backoff: 1s..1m}\n";
    let flow = read(&Source { file_name: "x.yaml", text }, Home::Server).unwrap();
    let text = codec::to_text(&flow);
    assert_eq!(read(&Source { file_name: "y.json", text: &text }, Home::Server), Ok(flow));
}

#[test]
fn an_alias_repeats_what_its_anchor_holds() {
    let told = json(
        "tasks:\n- &base {name: a, run: x, retries: 2}\n- <<: *base\n  name: b\n  env: &e {A: 1}\n\
         - {name: c, run: x, env: *e}\n",
    );
    assert!(told.contains(r#"{"env":{"A":"1"},"name":"b","retries":2,"run":"x"}"#), "{told}");
    assert!(told.contains(r#"{"env":{"A":"1"},"name":"c","run":"x"}"#), "{told}");
}

#[test]
fn files_of_one_revision_are_checked_together() {
    let a = Source { file_name: "a.yaml", text: "- {name: a, run: x}" };
    let b = Source { file_name: "b.json", text: r#"[{"name":"b","run":"x","depends":["a"]}]"# };
    assert_eq!(read_together(&[a, b], Home::Archive).unwrap().len(), 2);
    let errors = read_together(&[b], Home::Archive).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "b.json:1:35: there is no task named `a`\n  hint: name a task of this flow or revision"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_located() {
    let error = Source::from_bytes("x.yaml", b"a: \xC3\xA9\nb: \xFF").unwrap_err();
    assert_eq!((error.problems[0].line, error.problems[0].column), (2, 4));
}
