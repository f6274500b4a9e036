//! Triggers and the settings that belong to them.

use super::*;

#[test]
fn a_claim_takes_at_least_one_and_not_too_many() {
    assert_eq!(of_flow(r#""max_items":0"#), ["max_items: max_items is 0"]);
    assert_eq!(of_flow(r#""max_items":1001"#), ["max_items: max_items is 1001"]);
}

#[test]
fn a_concurrency_of_zero_is_refused() {
    let problem = "concurrency: a concurrency of 0 would let nothing run";
    assert_eq!(of_flow(r#""concurrency":0"#), [problem]);
}

#[test]
fn a_query_that_cannot_hold_is_refused() {
    for (query, problem) in [
        (
            r#""success":["ocr"],"failed":["ocr"]"#,
            "on.failed[0]: no item can have `ocr` both as `success` and as `failed`",
        ),
        (
            r#""success":["ocr"],"absent":["x","ocr"]"#,
            "on.absent[1]: no item can have `ocr` both as `success` and as `absent`",
        ),
        (
            r#""failed":["ocr"],"absent":["ocr"]"#,
            "on.absent[0]: no item can have `ocr` both as `failed` and as `absent`",
        ),
        (r#""kinds":["page","page"]"#, "on.kinds[1]: `page` is named twice"),
        (r#""items":[""]"#, "on.items[0]: the text is empty"),
    ] {
        assert_eq!(of_flow(&format!(r#""on":{{"items":{{{query}}}}}"#)), [problem], "{query}");
    }
}

#[test]
fn success_and_stale_go_together() {
    assert_eq!(of_flow(r#""on":{"items":{"success":["ocr"],"stale":["ocr"]}}"#), NOTHING);
}

#[test]
fn a_robot_is_stale_on_its_own_event_unless_it_says_otherwise() {
    for (query, stale) in [
        (r#""kinds":["page"]"#, vec!["ocr"]),
        (r#""absent":["ocr"]"#, vec![]),
        (r#""stale":["ocr"]"#, vec!["ocr"]),
    ] {
        let json = format!(r#"{{"name":"f","records":"ocr","on":{{"items":{{{query}}}}}}}"#);
        let mut flow = flow(&json);
        normalise(&mut flow);
        let On::Items(query) = flow.on else { panic!("{:?}", flow.on) };
        let names: Vec<&str> = query.stale.iter().map(Name::as_str).collect();
        assert_eq!(names, stale);
    }
}

#[test]
fn settings_of_pairs_belong_to_pairs() {
    let settings = r#""bundle":"item","max_columns":5,"lease":"2h","offer_ttl":"1h""#;
    assert_eq!(
        of_flow(settings),
        ["bundle: bundle, max_columns, lease and offer_ttl belong to `on: pairs`"]
    );
}

#[test]
fn pairs_have_their_defaults() {
    let on = r#""on":{"pairs":{"rows":"episode","columns":"clip"}}"#;
    assert_eq!(of_flow(on), NOTHING);
}

#[test]
fn what_is_wrong_with_pairs() {
    for (columns, max, lease, offer, problem) in [
        ("episode", 5, "2h", "1h", "on.columns: rows and columns are both `episode`"),
        ("clip", 0, "2h", "1h", "max_columns: max_columns is 0"),
        ("clip", 5, "8d", "1h", "lease: lease is 8d"),
        ("clip", 5, "2h", "2h", "offer_ttl: an offer of 2h does not fit into a lease of 2h"),
        ("clip", 5, "2h", "0s", "offer_ttl: an offer of 0s does not fit into a lease of 2h"),
    ] {
        let fields = format!(
            r#""on":{{"pairs":{{"rows":"episode","columns":"{columns}"}}}},"bundle":"item",
               "max_columns":{max},"lease":"{lease}","offer_ttl":"{offer}""#
        );
        assert_eq!(of_flow(&fields), [problem]);
    }
}

#[test]
fn pairs_have_one_step() {
    let json = r#"{"name":"f","on":{"pairs":{"rows":"r","columns":"c"}},
        "tasks":[{"name":"a","run":"x"},{"name":"b","run":"x"}]}"#;
    assert_eq!(problems(json), ["tasks[1]: a flow `on: pairs` has exactly one task"]);
}

#[test]
fn what_is_wrong_with_lots() {
    for (fields, problem) in [
        (
            r#""sources":{"a":"x"},"sinks":{}"#,
            "sources: sources, sinks, parts and on_empty belong to `on: lot`",
        ),
        (r#""on":"lot""#, "sources: a flow `on: lot` reads no dataset"),
        (
            r#""on":"lot","sources":{"a":"x"},"sinks":{"b":"x"}"#,
            "sinks.b: `x` is read and written, each lot would wake the flow again",
        ),
        (
            r#""on":"lot","sources":{"a":"x"},"sinks":{},"parts":[]"#,
            "parts: an empty list of parts splits into nothing",
        ),
        (r#""on":"lot","sources":{"a":""},"sinks":{}"#, "sources.a: the text is empty"),
    ] {
        assert_eq!(of_flow(fields), [problem], "{fields}");
    }
}

#[test]
fn what_is_wrong_with_a_calendar() {
    for (cron, tz, problem) in [
        ("* *", "UTC", "on.cron: cron expression has 2 fields, not five or six"),
        ("0 3 * * *", "", "on.tz: the text is empty"),
    ] {
        let fields = format!(r#""on":{{"schedule":{{"cron":"{cron}","tz":"{tz}"}}}}"#);
        assert_eq!(of_flow(&fields), [problem]);
    }
    assert_eq!(of_flow(r#""on":{"schedule":{"cron":"@daily","tz":"UTC"}}"#), NOTHING);
}
