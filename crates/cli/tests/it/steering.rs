//! What operators do: told beforehand, done, watched.

use crate::lab::Lab;

const OUTSIDE: &str = "tasks: [{ name: scan, run: outside }]";

#[test]
fn a_dry_run_tells_and_changes_nothing() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("ocr.yaml", OUTSIDE);
    lab.ok(&["submit", "ocr", "maps/page/1"]);
    let task = "ocr.scan@maps/page/1";
    for args in [
        &["task", "cancel", task][..],
        &["task", "skip", task],
        &["task", "hold", task, "--reason", "r"],
        &["task", "prioritise", task, "5"],
        &["item", "put", "maps/page/2"],
        &["item", "touch", "maps/page/1"],
        &["item", "prioritise", "maps/page/1", "5"],
        &["item", "delete", "maps/page/1"],
        &["hold", "set", "--collection", "maps", "--reason", "r"],
        &["batch", "open", "maps"],
        &["collection", "put", "books"],
        &["flow", "remove", "maps", "ocr"],
    ] {
        let mut args = args.to_vec();
        args.push("--dry-run");
        let said = lab.say(&args);
        assert_eq!(said.code, 0, "{args:?}: {}", said.err);
        assert!(said.err.contains("nothing was changed"), "{args:?}: {}", said.err);
        assert!(said.out.starts_with("WOULD HAPPEN"), "{args:?}: {}", said.out);
        assert_eq!(lab.json(&args)["dry_run"], true, "{args:?}");
    }
    lab.write("changed.yaml", "name: ocr\ntasks: [{ name: scan, run: outside, retries: 3 }]");
    let said = lab.say(&["flow", "apply", "maps", "changed.yaml", "--dry-run"]);
    assert!(said.out.contains("flow.applied"), "{} {}", said.out, said.err);
    assert_eq!(lab.json(&["task", "show", task])["state"], "ready");
    assert_eq!(lab.json(&["task", "show", task])["priority"], 0);
    assert_eq!(lab.json(&["hold", "list"])["entries"].as_array().unwrap().len(), 0);
    let said = lab.say(&["task", "retry", task, "--dry-run"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("takes no retry"), "{}", said.err);
}

#[test]
fn a_task_is_held_released_and_moved_up() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("ocr.yaml", OUTSIDE);
    lab.ok(&["submit", "ocr", "maps/page/1"]);
    let task = "ocr.scan@maps/page/1";
    lab.ok(&["task", "hold", task, "--reason", "smudged"]);
    assert!(lab.ok(&["task", "why", task]).contains("smudged"));
    lab.ok(&["task", "release", task]);
    let said = lab.say(&["task", "release", task]);
    assert!(said.err.contains("there is no hold on task"), "{}", said.err);
    lab.ok(&["task", "prioritise", task, "-3"]);
    assert_eq!(lab.json(&["task", "show", task])["priority"], -3);
    lab.ok(&["item", "prioritise", "maps/page/1", "8"]);
    assert_eq!(lab.json(&["task", "show", task])["priority"], 8);
}

#[test]
fn watching_ends_with_what_is_watched() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow(
        "f.yaml",
        "tasks: [{ name: s, shell: sh, script: 'sleep 0.3; test $ARMARIUS_ITEM_KEY = good' }]",
    );
    let batch = lab.ok(&["batch", "open", "maps"]);
    lab.ok(&["submit", "f", "maps/page/good", "maps/page/bad", "--batch", batch.trim()]);
    lab.ok(&["batch", "seal", batch.trim()]);
    let said = |about: &str| lab.say(&["watch", about, "--interval", "0.1"]);
    let good = said("f.s@maps/page/good");
    assert_eq!(good.code, 0, "{}", good.err);
    assert!(good.out.trim_end().lines().last().unwrap().contains("done"), "{}", good.out);
    assert_eq!(said("f.s@maps/page/bad").code, 5);
    assert_eq!(said("maps/page/good").code, 0);
    let item = said("maps/page/bad");
    assert_eq!(item.code, 5);
    assert!(item.out.contains("task.failed"), "{}", item.out);
    assert_eq!(said(&format!("batch:{}", batch.trim())).code, 5);
    assert_eq!(said("maps").code, 5);
    assert_eq!(said("nowhere").code, 1);
    let lines = lab.say(&["watch", "maps/page/good", "--json"]).out;
    assert!(lines.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok()), "{lines}");
}

#[test]
fn everything_is_watched_and_goes_on_behind_a_cursor() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("f.yaml", "tasks: [{ name: s, command: ['true'] }]");
    // Tells what it hears into a file until an item is done.
    let hear = |file: &str, after: &[&str], until: &str| -> Vec<serde_json::Value> {
        let out = std::fs::File::create(lab.path(file)).unwrap();
        let mut args = vec!["watch", "--json"];
        args.extend(after);
        let mut watch = lab.command(&args).stdout(out).spawn().unwrap();
        let (began, mut looks) = (std::time::Instant::now(), 0);
        let lines = loop {
            let text = std::fs::read_to_string(lab.path(file)).unwrap();
            // The last line may be half there.
            let lines = text.lines().filter_map(|l| serde_json::from_str(l).ok());
            let lines: Vec<serde_json::Value> = lines.collect();
            let is_done = |l: &serde_json::Value| l["item"] == until && l["name"] == "task.done";
            if lines.iter().any(is_done) || began.elapsed().as_secs() > 60 {
                break lines;
            }
            if after.is_empty() && looks % 20 == 0 {
                // Only what happens from now on is told, and when it began to listen is not.
                lab.ok(&["submit", "f", until]);
            }
            looks += 1;
            std::thread::sleep(std::time::Duration::from_millis(25));
        };
        watch.kill().unwrap();
        watch.wait().unwrap();
        assert!(!lines.is_empty(), "nothing was heard");
        lines
    };
    let first = hear("first", &[], "maps/page/1");
    let cursor = first[0]["cursor"].as_str().unwrap().to_owned();
    let again = hear("again", &["--after", &cursor], "maps/page/1");
    let told =
        |line: &serde_json::Value| format!("{} {} {}", line["item"], line["n"], line["name"]);
    let [first, again] = [first, again].map(|l| l.iter().map(told).collect::<Vec<_>>());
    let both = first.len().min(again.len() + 1);
    assert_eq!(first[1..both], again[..both - 1]);
    assert_eq!(lab.say(&["watch", "--after", "nonsense"]).code, 1);
}

#[test]
fn the_live_view_has_a_still_picture() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow("bad.yaml", "tasks: [{ name: s, command: ['false'] }]");
    lab.ok(&["submit", "bad", "maps/page/1"]);
    lab.wait("bad.s@maps/page/1", &["failed"]);
    let text = lab.ok(&["top"]);
    assert!(text.contains("maps/bad.s") && text.contains("bad.s@maps/page/1"), "{text}");
    // No terminal, no colours.
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let shown = lab.json(&["top"]);
    assert_eq!(shown["stats"]["tasks"]["failed"], 1);
}

#[test]
fn a_flow_is_drawn_from_file_and_server() {
    let lab = Lab::new();
    let _up = lab.up();
    lab.with_flow(
        "two.yaml",
        "tasks: [{ name: a, run: outside }, { name: b, run: outside, depends: [a] }]",
    );
    let wanted = "two\n└─ a\n   └─► b\n";
    assert_eq!(lab.ok(&["flow", "graph", "two.yaml"]), wanted);
    assert_eq!(lab.ok(&["flow", "graph", "maps", "two"]), wanted);
    assert!(lab.ok(&["flow", "graph", "maps", "two", "--dot"]).contains("\"a\" -> \"b\""));
    let text = "on: { schedule: { cron: 0 3 * * *, tz: UTC } }\ntasks: [{ name: a, run: outside }]";
    lab.write("nightly.yaml", text);
    lab.ok(&["flow", "apply", "maps", "nightly.yaml"]);
    assert!(lab.ok(&["schedule", "list"]).contains("T03:00:00Z"));
}

#[test]
fn stories_are_played() {
    let lab = Lab::new();
    let text = lab.ok(&["demo", "--once", "walk", "line", "batch", "hold", "revisions"]);
    assert!(text.contains("tasks done") && text.contains("(1 failed)"), "{text}");
    assert!(text.contains("200 done, 0 failed, reported 2 times"), "{text}");
    assert!(text.contains("the rights are being cleared"), "{text}");
    assert!(text.contains("two pages went through two steps: 4 tasks done"), "{text}");
    assert!(text.contains("4 revisions were indexed in order"), "{text}");
    assert!(text.contains("2 texts speak of a whale"), "{text}");
    assert!(text.contains("r3 ran nothing, and delayed nobody: _workflows/main.yaml:2"), "{text}");
    let said = lab.say(&["demo", "bach"]);
    assert!(said.err.contains("did you mean `batch`?"), "{}", said.err);
}

#[test]
fn the_api_is_measured_on_a_server_of_its_own() {
    let lab = Lab::new();
    let args = ["bench", "http", "--tasks", "400", "--callers", "2", "--claim", "50"];
    let mut args = args.to_vec();
    args.extend(["--samples", "20", "--idle", "20", "--json"]);
    let figures: serde_json::Value = serde_json::from_str(&lab.ok(&args)).unwrap();
    for name in ["lifecycles_per_s", "submit_p50_us", "to_worker_p99_us", "rest_rss_bytes"] {
        assert!(figures[name].as_u64() > Some(0), "{name}: {figures}");
    }
    assert_eq!(figures["idle_workers"], 20);
}
