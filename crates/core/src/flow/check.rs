//! What makes a definition wrong.
//!
//! [`check`] looks at one flow, [`check_together`] at what is only seen when all files of a
//! revision lie side by side, [`normalise`] fills in the defaults that depend on other fields.
//! A flow is accepted only when none of them finds anything.

/// A path: `at!["tasks", 2, "ttl"]`.
macro_rules! at {
    ($($part:expr),* $(,)?) => { vec![$($crate::flow::check::PathPart::from($part)),*] };
}
mod graph;
mod line;
mod near;
mod steps;
mod triggers;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use graph::{Graph, Seat};

use super::codec::{COMMIT, length_text, reference_text};
use super::{Flow, Lots, On, OnEmpty, Pairs, Parts, Reference};
use crate::ids::Span;
use crate::limits;
use crate::text::Text;

pub use line::{Verdict, check_line};
pub use near::{did_you_mean, nearest};
pub use steps::RETRIES_MAX;

/// Most steps of all commit flows of one revision.
pub const STEPS_TOGETHER_MAX: usize = 2_000;
/// Columns of one lease, unless the flow says otherwise.
pub const MAX_COLUMNS_DEFAULT: u32 = 100;
/// Length of a lease of pairs, unless the flow says otherwise.
pub const LEASE_DEFAULT: Span = Span::seconds(7_200);

/// One thing that is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as in `tasks[2].depends[0]`.
    pub path: Vec<PathPart>,
    /// What, as a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// One step on the way to a place in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// A field by its key in the flow file.
    Field(&'static str),
    /// An entry of a list, from 0.
    Index(usize),
    /// An entry of a map whose keys the author chose.
    Key(Text),
}

impl From<&'static str> for PathPart {
    fn from(field: &'static str) -> Self {
        Self::Field(field)
    }
}

impl From<usize> for PathPart {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl From<Text> for PathPart {
    fn from(key: Text) -> Self {
        Self::Key(key)
    }
}

impl From<String> for PathPart {
    fn from(key: String) -> Self {
        Self::Key(key.into())
    }
}

impl Problem {
    /// The path as people write it.
    #[must_use]
    pub fn place(&self) -> String {
        let mut out = String::new();
        for part in &self.path {
            match part {
                PathPart::Index(index) => out.push_str(&format!("[{index}]")),
                PathPart::Field(field) => push_key(&mut out, field),
                PathPart::Key(key) => push_key(&mut out, key),
            }
        }
        out
    }
}

fn push_key(out: &mut String, key: &str) {
    if !out.is_empty() {
        out.push('.');
    }
    out.push_str(key);
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place(), self.message, self.hint)
    }
}

/// Everything that is wrong with one flow, in the order of its file.
///
/// In a flow `on: commit`, a name that is not found here is left to [`check_together`], because
/// another file of the revision may define it.
#[must_use]
pub fn check(flow: &Flow) -> Vec<Problem> {
    let mut findings = Findings::default();
    sizes(&mut findings, flow);
    triggers::check(&mut findings, flow);
    for (index, step) in flow.tasks.iter().enumerate() {
        steps::check(&mut findings, flow, index, step);
    }
    if flow.tasks.len() <= limits::STEPS_MAX {
        let seats = flow.tasks.iter().enumerate();
        let graph = Graph::new(seats.map(|(index, step)| Seat { flow: 0, index, step }).collect());
        let mut found = edges(&graph);
        if !matches!(flow.on, On::Commit { .. }) {
            found.extend(unknown(&graph));
        }
        findings.0.extend(found.into_iter().map(|(_, problem, _)| problem));
    }
    findings.0
}

/// What is wrong between the flows of one revision, each with the flow it is found in.
///
/// Their names differ, and the tasks of all that are `on: commit` form one graph: their names are
/// unique across files and `depends` may cross them. What lies within one flow is left to
/// [`check`].
#[must_use]
pub fn check_together(flows: &[Flow]) -> Vec<(usize, Problem)> {
    let mut found = same_names(flows);
    let commits = flows.iter().enumerate().filter(|(_, f)| matches!(f.on, On::Commit { .. }));
    let seats: Vec<Seat<'_>> = commits
        .flat_map(|(flow, f)| {
            f.tasks.iter().enumerate().map(move |(index, step)| Seat { flow, index, step })
        })
        .collect();
    if seats.len() > STEPS_TOGETHER_MAX {
        let count = seats.len();
        let message = format!("{count} tasks in one revision, more than {STEPS_TOGETHER_MAX}");
        let hint = "let one task start another flow".to_owned();
        let flow = seats.last().map_or(0, |seat| seat.flow);
        found.push((flow, Problem { path: at!["tasks"], message, hint }));
        return found;
    }
    let graph = Graph::new(seats);
    let crossing = edges(&graph).into_iter().filter(|(_, _, crosses)| *crosses);
    let in_graph = crossing.chain(unknown(&graph));
    found.extend(in_graph.map(|(flow, problem, _)| (flow, problem)));
    found
}

fn same_names(flows: &[Flow]) -> Vec<(usize, Problem)> {
    let mut seen = BTreeSet::new();
    let again = flows.iter().enumerate().filter(|(_, flow)| !seen.insert(&flow.name));
    again
        .map(|(index, flow)| {
            let message = format!("a second flow named `{}`", flow.name);
            let hint = "give each flow its own name".to_owned();
            (index, Problem { path: at!["name"], message, hint })
        })
        .collect()
}

/// Fills in defaults that depend on other fields. Doing it twice changes nothing more.
pub fn normalise(flow: &mut Flow) {
    match &mut flow.on {
        On::Items(query) => {
            // Without this, recording its own event would wake a robot for ever or never.
            if let Some(own) = &flow.records
                && !query.absent.contains(own)
                && !query.stale.contains(own)
            {
                query.stale.push(own.clone());
            }
        }
        On::Pairs { .. } => {
            flow.pairs.get_or_insert(Pairs {
                bundle_by_item: true,
                max_columns: MAX_COLUMNS_DEFAULT,
                lease: LEASE_DEFAULT,
                offer_ttl: half(LEASE_DEFAULT),
            });
        }
        On::Lot => {
            flow.lots.get_or_insert(Lots {
                sources: Default::default(),
                sinks: Default::default(),
                parts: Parts::Whole,
                on_empty: OnEmpty::Pass,
            });
        }
        On::Commit { .. } | On::Submission | On::Schedule(_) | On::Manual => {}
    }
}

/// Half of a lease: how long an offer nobody took lives, unless the flow says otherwise.
#[must_use]
pub fn half(lease: Span) -> Span {
    Span(lease.0 / 2)
}

fn sizes(findings: &mut Findings, flow: &Flow) {
    let items = 1..=limits::CLAIM_TASKS_MAX;
    if !items.contains(&flow.max_items) {
        findings.out_of_range(at!["max_items"], "max_items", flow.max_items, items);
    }
    if flow.concurrency == Some(0) {
        findings.add(
            at!["concurrency"],
            "a concurrency of 0 would let nothing run",
            "give at least 1; a hold stops a flow",
        );
    }
    if flow.tasks.is_empty() {
        findings.add(at!["tasks"], "the flow has no tasks", "give at least one");
    }
    if flow.tasks.len() > limits::STEPS_MAX {
        findings.add(
            at!["tasks", limits::STEPS_MAX],
            format!("{} tasks, more than {}", flow.tasks.len(), limits::STEPS_MAX),
            "split the work into several flows",
        );
    }
}

/// A problem, the flow it is found in, and whether it spans several flows.
type Found = (usize, Problem, bool);

/// Duplicate names, circles, and steps that cancel what they depend on.
fn edges(graph: &Graph<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (i, seat) in graph.seats.iter().enumerate() {
        if let Some(first) = graph.seat_of(&seat.step.name).filter(|first| *first != i) {
            found.push((
                seat.flow,
                Problem {
                    path: at!["tasks", seat.index, "name"],
                    message: format!("a second task named `{}`", seat.step.name),
                    hint: "give each task of a round or revision its own name".to_owned(),
                },
                graph.seats[first].flow != seat.flow,
            ));
        }
    }
    for mut circle in graph.circles() {
        circle.extend(circle.first().copied());
        let [first, next, ..] = circle.as_slice() else {
            continue;
        };
        let (seat, to) = (graph.seats[*first], &graph.seats[*next].step.name);
        let depends = &seat.step.depends;
        let edge = depends.iter().position(|d| d.on == Reference::Task(to.clone()));
        found.push((
            seat.flow,
            Problem {
                path: at!["tasks", seat.index, "depends", edge.unwrap_or(0)],
                message: format!("these wait for each other: {}", graph.way_text(&circle)),
                hint: "remove one of these dependencies".to_owned(),
            },
            graph.crosses_flows(&circle),
        ));
    }
    for contradiction in graph.contradictions() {
        let seat = graph.seats[contradiction.seat];
        let on = reference_text(&seat.step.cancels[contradiction.cancel]);
        let way = match contradiction.way.as_slice() {
            [_] => String::new(),
            way => format!(" by way of {}", graph.way_text(way)),
        };
        found.push((
            seat.flow,
            Problem {
                path: at!["tasks", seat.index, "cancels", contradiction.cancel],
                message: format!("`{}` cancels `{on}`, on which it depends{way}", seat.step.name),
                hint: "remove it from `cancels` or from `depends`".to_owned(),
            },
            graph.crosses_flows(&contradiction.way),
        ));
    }
    found
}

/// Names of tasks that do not exist. `COMMIT` exists in every revision.
fn unknown<'a>(graph: &'a Graph<'a>) -> impl Iterator<Item = Found> + 'a {
    graph.seats.iter().flat_map(move |seat| {
        let depends = seat.step.depends.iter().map(|depend| &depend.on).enumerate();
        let cancels = seat.step.cancels.iter().enumerate();
        let named = depends.map(|(i, on)| ("depends", i, on));
        let named = named.chain(cancels.map(|(i, on)| ("cancels", i, on)));
        named.filter_map(move |(key, i, reference)| {
            let name = match reference {
                Reference::Prev => return None,
                Reference::Task(name) | Reference::PrevTask(name) => name.as_str(),
            };
            if name == COMMIT || graph.seat_of(name).is_some() {
                return None;
            }
            let others = graph.names().filter(|other| *other != seat.step.name.as_str());
            let problem = Problem {
                path: at!["tasks", seat.index, key, i],
                message: format!("there is no task named `{name}`"),
                hint: did_you_mean(name, others, "name a task of this flow or revision"),
            };
            Some((seat.flow, problem, true))
        })
    })
}

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<Problem>);

impl Findings {
    fn add(&mut self, path: Vec<PathPart>, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Problem { path, message: message.into(), hint: hint.into() });
    }

    fn out_of_range<T: fmt::Display>(
        &mut self,
        path: Vec<PathPart>,
        what: &str,
        value: T,
        range: RangeInclusive<T>,
    ) {
        let (low, high) = (range.start(), range.end());
        self.add(path, format!("{what} is {value}"), format!("give a number from {low} to {high}"));
    }
}

/// A length a lease may have.
fn lease_length(findings: &mut Findings, path: Vec<PathPart>, what: &str, span: Span) {
    let low = Span::seconds(limits::TTL_SECONDS_MIN);
    let high = Span::seconds(limits::TTL_SECONDS_MAX);
    if span < low || span > high {
        findings.add(
            path,
            format!("{what} is {}", length_text(span)),
            format!("give a length from {} to {}", length_text(low), length_text(high)),
        );
    }
}

/// Text that must say something.
fn plain_text(findings: &mut Findings, path: Vec<PathPart>, text: &str) {
    if text.trim().is_empty() {
        findings.add(path, "the text is empty", "give a value, or leave the key out");
        return;
    }
    unbroken_text(findings, path, text);
}

/// Text without NUL, which neither a process nor a store would keep whole.
fn unbroken_text(findings: &mut Findings, path: Vec<PathPart>, text: &str) {
    if text.contains('\0') {
        findings.add(path, "the text contains a NUL character", "remove the NUL");
    }
}

/// Entries that stand in a list a second time.
fn repeated<T: Ord + Described>(
    findings: &mut Findings,
    list: &[T],
    path_of: impl Fn(usize) -> Vec<PathPart>,
) {
    let mut seen = BTreeSet::new();
    for (i, entry) in list.iter().enumerate() {
        if !seen.insert(entry) {
            let message = format!("`{}` is named twice", entry.described());
            findings.add(path_of(i), message, "remove one of them");
        }
    }
}

/// Something that can be named in a sentence.
trait Described {
    fn described(&self) -> String;
}

impl Described for Text {
    fn described(&self) -> String {
        self.to_string()
    }
}

impl Described for crate::text::Name {
    fn described(&self) -> String {
        self.to_string()
    }
}

impl Described for Reference {
    fn described(&self) -> String {
        reference_text(self)
    }
}

impl Described for &Reference {
    fn described(&self) -> String {
        reference_text(self)
    }
}

#[cfg(test)]
mod tests;
