//! Flows as scripts write them: `NAME setting … : STEP setting … ; STEP setting …`.
//!
//! ```text
//! f records=e : a ; b depends=a ; c depends=a,b? exclusive limit=host/1
//! r success=scan records=ocr : s              (a robot)
//! f on=commit : index depends=PREV ; pdf depends=index cancels=PREV
//! f cron overlap=skip : s                     (a schedule)
//! ```
//!
//! A dependency with `?` accepts any end. Times are in seconds.

use armarius_core::flow::{
    Action, Calendar, Class, Depend, Flow, Late, Limit, Missed, On, Order, Overlap, Query,
    Reference, Step, Way, When,
};
use armarius_core::ids::Span;
use armarius_core::text::{Name, Text};

pub(crate) fn flow(text: &str) -> Flow {
    let (head, steps) = text.split_once(':').unwrap_or_else(|| panic!("{text}: no colon"));
    let mut words = head.split_whitespace();
    let mut flow = Flow::manual(Name::trusted(words.next().expect("a name")));
    for word in words {
        set_flow(&mut flow, word);
    }
    flow.tasks = steps.split(';').map(step).collect();
    flow
}

fn set_flow(flow: &mut Flow, word: &str) {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "records" => flow.records = Some(Name::trusted(value)),
        "touches" => flow.touches = true,
        "singleton" => flow.singleton = true,
        "newest" => flow.order = Order::Newest,
        "concurrency" => flow.concurrency = Some(value.parse().expect("a number")),
        "on" if value == "commit" => {
            flow.on = On::Commit { paths: Vec::new(), ignore_authors: Vec::new() };
        }
        "paths" => filters(flow).0.extend(value.split(',').map(Text::from)),
        "ignore" => filters(flow).1.extend(value.split(',').map(Text::from)),
        "success" => query(flow).success = names(value),
        "failed" => query(flow).failed = names(value),
        "absent" => query(flow).absent = names(value),
        "stale" => query(flow).stale = names(value),
        "kinds" => query(flow).kinds = names(value),
        "types" => query(flow).types = names(value),
        "items" => query(flow).items = value.split(',').map(Into::into).collect(),
        "max-items" => flow.max_items = value.parse().expect("a number"),
        "cron" => {
            flow.on = On::Schedule(Calendar {
                cron: "* * * * *".into(),
                tz: "UTC".into(),
                missed: Missed::Latest,
                overlap: Overlap::Skip,
            });
        }
        "missed" => {
            calendar(flow).missed = match value {
                "all" => Missed::All,
                "skip" => Missed::Skip,
                _ => Missed::Latest,
            }
        }
        "overlap" => {
            calendar(flow).overlap = match value {
                "allow" => Overlap::Allow,
                "replace" => Overlap::Replace,
                _ => Overlap::Skip,
            }
        }
        other => panic!("a flow has no {other}"),
    }
}

fn filters(flow: &mut Flow) -> (&mut Vec<Text>, &mut Vec<Text>) {
    match &mut flow.on {
        On::Commit { paths, ignore_authors } => (paths, ignore_authors),
        other => panic!("not on commit: {other:?}"),
    }
}

fn query(flow: &mut Flow) -> &mut Query {
    if !matches!(flow.on, On::Items(_)) {
        flow.on = On::Items(Query::default());
    }
    match &mut flow.on {
        On::Items(query) => query,
        other => panic!("not a robot: {other:?}"),
    }
}

fn calendar(flow: &mut Flow) -> &mut Calendar {
    match &mut flow.on {
        On::Schedule(calendar) => calendar,
        other => panic!("not a schedule: {other:?}"),
    }
}

fn step(text: &str) -> Step {
    let mut words = text.split_whitespace();
    let mut step = Step::outside(Name::trusted(words.next().expect("a step")));
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let seconds = || Span::seconds(value.parse().expect("seconds"));
        match key {
            "depends" => step.depends = value.split(',').map(depend).collect(),
            "cancels" => step.cancels = value.split(',').map(reference).collect(),
            "labels" => step.labels = names(value),
            "way" => be_run(&mut step, way(value)),
            "exclusive" => step.exclusive = true,
            "timeout" => step.timeout = seconds(),
            "silence" => step.progress_timeout = Some(seconds()),
            "retries" => step.retries = value.parse().expect("a number"),
            "late" => step.late = Late::Accept,
            "transient" => {
                step.exit_codes.insert(value.parse().expect("a code"), Class::Transient);
            }
            "limit" => {
                let (key, max) = value.split_once('/').expect("key/max");
                step.limit = Some(Limit { key: key.into(), max: max.parse().expect("max") });
            }
            other => panic!("a step has no {other}"),
        }
    }
    step
}

/// A way by its name.
pub(crate) fn way(name: &str) -> Way {
    Way::ALL.into_iter().find(|way| way.as_str() == name).expect("a way")
}

/// Gives a step what is run that way.
fn be_run(step: &mut Step, way: Way) {
    step.image = (way == Way::Image).then(|| "busybox".into());
    step.action = match way {
        Way::Command | Way::Image => Action::Command(vec!["true".into()]),
        Way::Script => Action::Script { text: "true".into(), shell: "sh".into() },
        Way::Outside => Action::Run(Name::trusted("outside")),
        Way::BuiltIn => Action::Run(Name::trusted("fetch")),
    };
}

fn depend(text: &str) -> Depend {
    let when = if text.ends_with('?') { When::Settled } else { When::Done };
    Depend { on: reference(text.trim_end_matches('?')), when }
}

fn reference(text: &str) -> Reference {
    match text.split_once('.') {
        None if text == "PREV" => Reference::Prev,
        Some(("PREV", name)) => Reference::PrevTask(Name::trusted(name)),
        Some(_) | None => Reference::Task(Name::trusted(text)),
    }
}

fn names(text: &str) -> Vec<Name> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    text.split(',').map(Name::trusted).collect()
}
