//! One task that many others wait for: what follows from its end is too large for one commit.

use armarius_core::address::{ItemAddress, TaskAddress};
use armarius_core::command::{Claim, Command, Ending, Report, Submit};
use armarius_core::flow::{Class, Flow, Step as FlowStep};
use armarius_core::ids::{BatchId, LeaseId, TaskId, Token};
use armarius_core::reply::Granted;
use armarius_core::text::Name;
use armarius_core::view::{Need, View};
use armarius_engine::{EngineError, Handle, Options};

use crate::script::{BEGIN, Step};

/// Rows of a group, few, so that each piece of an errand has a commit of its own.
const PIECE_ROWS: usize = 100;

/// A flow of one step, done by whoever claims it.
#[must_use]
pub fn flow(name: &str) -> Flow {
    let tasks = vec![FlowStep::outside(Name::trusted("s"))];
    Flow { tasks, ..Flow::manual(Name::trusted(name)) }
}

/// An item of collection `c`.
#[must_use]
pub fn item(key: &str) -> ItemAddress {
    ItemAddress { collection: Name::trusted("c"), kind: Name::trusted("page"), key: key.into() }
}

/// A step of an operator at the beginning of time.
#[must_use]
pub fn step(command: Command) -> Step {
    Step { at: BEGIN, actor: Name::trusted("op"), idem: None, command }
}

/// The collection `c` with the flow `one`.
#[must_use]
pub fn home() -> Vec<Step> {
    let name = Name::trusted("c");
    let flow = Box::new(flow("one"));
    let collection = name.clone();
    vec![
        step(Command::PutCollection { name, notify: vec!["post".into()] }),
        step(Command::ApplyFlow { collection, flow }),
    ]
}

/// A round of `one` on an item.
#[must_use]
pub fn submit(key: &str, depends: Vec<TaskAddress>, batch: Option<BatchId>) -> Command {
    Command::Submit(Submit {
        item: item(key),
        flow: Name::trusted("one"),
        payload: "".into(),
        priority: None,
        not_before: None,
        parts: Vec::new(),
        depends,
        batch,
    })
}

/// The only task of an item's first round of `one`.
#[must_use]
pub fn task(key: &str) -> TaskAddress {
    TaskAddress {
        flow: Name::trusted("one"),
        step: Name::trusted("s"),
        item: item(key),
        part: "".into(),
        round: 1,
    }
}

/// A task and those that wait for it.
#[must_use]
pub fn steps(dependents: usize) -> Vec<Step> {
    let mut steps = home();
    steps.push(step(submit("root", Vec::new(), None)));
    steps.extend((0..dependents).map(|n| step(submit(&format!("d{n}"), vec![task("root")], None))));
    steps
}

/// A request for at most so many tasks.
#[must_use]
pub fn claim(max: u32) -> Step {
    let worker = Name::trusted("w");
    let (labels, steps, collections) = (Vec::new(), Vec::new(), Vec::new());
    let claim = Claim { worker: worker.clone(), labels, steps, collections, ways: Vec::new(), max };
    Step { actor: worker, ..step(Command::Claim(claim)) }
}

/// A report of success.
#[must_use]
pub fn report(lease: LeaseId, task: TaskId, token: Token) -> Step {
    let outcome = Ending::Class(Class::Success);
    let report = Report { lease, task, token, outcome, detail: None, manifest: None, last: false };
    Step { actor: Name::trusted("w"), ..step(Command::Report(report)) }
}

/// Reports of success for everything that was granted.
#[must_use]
pub fn reports(granted: &Granted) -> Vec<Step> {
    granted.tasks.iter().map(|t| report(granted.lease, t.task, t.token)).collect()
}

/// An engine that does its duties and commits each piece of an errand on its own.
#[must_use]
pub fn piecemeal() -> Options {
    Options { readers: 1, group_rows_max: PIECE_ROWS, ..Options::default() }
}

/// Whether an errand is pending.
pub fn has_errand(handle: &Handle) -> Result<bool, EngineError> {
    handle.question(|reader| {
        let mut view = View::new(0);
        reader.look(&[Need::Errands((), None, 1)], &mut view, true)?;
        Ok(view.errands.first(&(), 1).is_ok_and(|mut errands| errands.next().is_some()))
    })
}
