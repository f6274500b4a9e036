//! The flows that scripts use: every shape the rules treat differently.

/// Canonical JSON, applied in this order. The later version of `one` follows at a random moment.
pub(super) const FLOWS: &[&str] = &[
    r#"{"name":"one","records":"one","tasks":[{"name":"s","run":"outside","retries":1,
        "late":"accept"}]}"#,
    r#"{"name":"chain","records":"chain","order":"newest","tasks":[{"name":"a","run":"outside"},
        {"name":"b","run":"outside","depends":["a"],"priority":2},
        {"name":"c","run":"outside","depends":["a",{"task":"b","on":"settled"}]}]}"#,
    r#"{"name":"tight","concurrency":2,"tasks":[{"name":"s","run":"outside","exclusive":true,
        "limit":{"key":"h","max":1}},{"name":"t","run":"outside","timeout":"40s"}]}"#,
    r#"{"name":"build","on":"commit","tasks":[{"name":"i","run":"outside","depends":["PREV"]},
        {"name":"p","run":"outside","depends":["i"],"cancels":["PREV"]},
        {"name":"q","run":"outside","depends":["p"]}]}"#,
    r#"{"name":"lock","on":"commit","tasks":[{"name":"x","run":"outside","exclusive":true,
        "depends":["PREV"]},{"name":"y","run":"outside","depends":["x"],"cancels":["PREV:y"]}]}"#,
    r#"{"name":"bot","on":{"items":{"success":["one"]}},"records":"bot",
        "tasks":[{"name":"s","run":"outside"}]}"#,
    r#"{"name":"solo","singleton":true,"on":{"items":{"success":["bot"],"failed":["x"]}},
        "records":"solo","touches":true,"tasks":[{"name":"s","run":"outside"}]}"#,
    r#"{"name":"cron","on":{"schedule":{"cron":"* * * * *","tz":"UTC","overlap":"replace"}},
        "tasks":[{"name":"s","run":"outside"}]}"#,
    r#"{"name":"hourly","on":{"schedule":{"cron":"0 * * * *","tz":"UTC","missed":"all",
        "overlap":"skip"}},"tasks":[{"name":"s","run":"outside"}]}"#,
    r#"{"name":"press","max_items":2,"tasks":[{"name":"s","run":"outside","labels":["gpu"],
        "ttl":"10s","progress_timeout":"20s","retries":2,"backoff":"5s..20s",
        "exit_codes":{"7":"transient"}}]}"#,
];

/// Another version of `one`, for a flow that changes under open work.
pub(super) const ONE_AGAIN: &str = r#"{"name":"one","records":"one","tasks":[{"name":"s",
    "run":"outside","retries":3,"priority":1,"late":"accept"},
    {"name":"z","run":"outside","depends":["s"]}]}"#;

/// Flows that can be submitted by hand to any item.
pub(super) const BY_HAND: &[&str] = &["one", "chain", "tight", "press", "one", "chain"];

/// Flows of revisions.
pub(super) const BY_REVISION: &[&str] = &["build", "lock"];

/// Every step, as (flow, step), for claims that want only some.
pub(super) const STEPS: &[(&str, &str)] =
    &[("one", "s"), ("chain", "a"), ("chain", "b"), ("tight", "s"), ("solo", "s"), ("build", "p")];
