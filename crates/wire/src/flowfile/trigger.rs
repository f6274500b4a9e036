//! The key `on`: a word, or a word with its settings.

use armarius_core::flow::check::did_you_mean;
use armarius_core::flow::{Calendar, Missed, On, Overlap, Query};
use armarius_core::text::Text;

use super::error::Findings;
use super::fields::Fields;
use super::node::{Kind, Node, shown};
use super::scalars;

const WORDS: [&str; 7] = ["commit", "items", "lot", "submission", "pairs", "schedule", "manual"];

/// Time zone of a schedule that names none.
const TZ_DEFAULT: &str = "UTC";

pub(super) fn read(found: &mut Findings, node: &Node) -> Option<On> {
    let (word, settings) = match &node.kind {
        Kind::Plain(_) | Kind::Text(_) => (node, None),
        Kind::Map(entries) => match entries.as_slice() {
            [(word, settings)] => (word, Some(settings)),
            _ => {
                let hint =
                    "a file has one trigger; put the same tasks into another file for another one";
                found.add(node.place, "expected exactly one trigger".to_owned(), hint.to_owned());
                return None;
            }
        },
        Kind::Nothing | Kind::List(_) => {
            scalars::wrong(found, node, "what wakes the flow");
            return None;
        }
    };
    match word.spelling().unwrap_or_default() {
        "commit" => Some(commit(found, settings)),
        "items" => Some(On::Items(query(found, settings))),
        "lot" => Some(alone(found, settings, On::Lot)),
        "submission" => Some(alone(found, settings, On::Submission)),
        "manual" => Some(alone(found, settings, On::Manual)),
        "pairs" => pairs(found, word, settings),
        "schedule" => schedule(found, word, settings),
        other => {
            let all = format!("write one of {}", WORDS.join(", "));
            let message = format!("nothing wakes a flow by the name `{}`", shown(other));
            found.add(word.place, message, did_you_mean(other, WORDS, &all));
            None
        }
    }
}

/// The settings of a trigger that may go without; an empty place counts as none.
fn settings<'n>(
    found: &mut Findings,
    node: Option<&'n Node>,
    what: &'static str,
) -> Option<Fields<'n>> {
    let node = node.filter(|node| !matches!(node.kind, Kind::Nothing))?;
    Fields::open(found, node, what)
}

fn alone(found: &mut Findings, node: Option<&Node>, on: On) -> On {
    if let Some(fields) = settings(found, node, "this trigger") {
        fields.close(found);
    }
    on
}

fn commit(found: &mut Findings, node: Option<&Node>) -> On {
    let (mut paths, mut ignore_authors) = (Vec::new(), Vec::new());
    if let Some(mut fields) = settings(found, node, "`on: commit`") {
        fields.set(found, "paths", &mut paths, scalars::texts);
        fields.set(found, "ignore_authors", &mut ignore_authors, scalars::texts);
        fields.close(found);
    }
    On::Commit { paths, ignore_authors }
}

fn query(found: &mut Findings, node: Option<&Node>) -> Query {
    let mut query = Query::default();
    if let Some(mut fields) = settings(found, node, "`on: items`") {
        fields.set(found, "kinds", &mut query.kinds, scalars::names);
        fields.set(found, "types", &mut query.types, scalars::names);
        fields.set(found, "success", &mut query.success, scalars::names);
        fields.set(found, "failed", &mut query.failed, scalars::names);
        fields.set(found, "absent", &mut query.absent, scalars::names);
        fields.set(found, "stale", &mut query.stale, scalars::names);
        fields.set(found, "items", &mut query.items, scalars::texts);
        fields.close(found);
    }
    query
}

fn pairs(found: &mut Findings, word: &Node, node: Option<&Node>) -> Option<On> {
    let hint = "write pairs: {rows: episode, columns: clip}";
    let Some(node) = node else {
        found.add(word.place, "`on: pairs` needs `rows` and `columns`", hint);
        return None;
    };
    let mut fields = Fields::open(found, node, "`on: pairs`")?;
    let rows = fields.needed(found, "rows", hint);
    let columns = fields.needed(found, "columns", hint);
    fields.close(found);
    let rows = rows.and_then(|node| scalars::name(found, node));
    let columns = columns.and_then(|node| scalars::name(found, node));
    Some(On::Pairs { rows: rows?, columns: columns? })
}

fn schedule(found: &mut Findings, word: &Node, node: Option<&Node>) -> Option<On> {
    let hint = "write schedule: {cron: \"0 3 * * *\", tz: Europe/Zurich}";
    let Some(node) = node else {
        found.add(word.place, "`on: schedule` needs `cron`", hint);
        return None;
    };
    let mut fields = Fields::open(found, node, "`on: schedule`")?;
    let cron = fields.needed(found, "cron", hint).and_then(|node| scalars::text(found, node));
    let mut tz = Text::from(TZ_DEFAULT);
    let (mut missed, mut overlap) = (Missed::default(), Overlap::default());
    fields.set(found, "tz", &mut tz, scalars::text);
    fields.set(found, "missed", &mut missed, scalars::word);
    fields.set(found, "overlap", &mut overlap, scalars::word);
    fields.close(found);
    Some(On::Schedule(Calendar { cron: cron?, tz, missed, overlap }))
}
