//! What came of tasks.

use armarius_core::command::{Command, Ending, Report};
use armarius_core::flow::Class;
use armarius_core::ids::{TaskId, Token};
use armarius_core::refusal::{Code, Refusal};
use armarius_core::reply::{self, Reply};
use armarius_core::rows::ManifestState;
use armarius_core::text::Text;
use armarius_core::view::Need;
use armarius_engine::Request;
use armarius_wire::v1::report::{self, Reported};
use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::body::{Bulk, json};
use crate::keys::Caller;
use crate::problem::{Answer, Fault};

/// `POST /api/v1/reports`
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    Bulk(reports): Bulk<report::Report>,
) -> Answer {
    let visible = visible(&app, &caller, &reports).await?;
    let read = |(report, visible): (report::Report, bool)| {
        let task = report.task;
        let unknown = || Refusal::new(Code::NoSuchTask, format!("there is no task {task}"));
        let command = if visible { read(&report) } else { Err(unknown()) };
        let actor = caller.actor.clone();
        Ok(Request { actor, idem: None, command: Command::Report(command?) })
    };
    let requests = reports.into_iter().zip(visible).map(read).collect();
    let replies = super::each(&app, requests, |answer| match answer {
        Ok(Reply::Reported(done)) => {
            Reported { outcome: Some(outcome(done).to_owned()), problem: None }
        }
        Ok(other) => refused(*super::strange(&other).0),
        Err(problem) => refused(problem),
    });
    Ok(json(StatusCode::OK, &replies.await))
}

fn refused(problem: armarius_wire::v1::Problem) -> Reported {
    Reported { outcome: None, problem: Some(problem) }
}

/// A report is kept even when its lease is not the caller's, so that a key for some collections
/// must not reach the tasks of others.
async fn visible(
    app: &App,
    caller: &Caller,
    reports: &[report::Report],
) -> Result<Vec<bool>, Fault> {
    if caller.scope.is_none() {
        return Ok(vec![true; reports.len()]);
    }
    let tasks: Vec<TaskId> = reports.iter().map(|r| TaskId(r.task)).collect();
    let caller = caller.clone();
    app.look(move |look| {
        let needs: Vec<Need> = tasks.iter().map(|task| Need::Body(*task)).collect();
        look.load(&needs)?;
        Ok(tasks.iter().map(|task| look.visible_task(&caller, *task).is_ok()).collect())
    })
    .await
}

fn read(report: &report::Report) -> Result<Report, Refusal> {
    let token = report.token.parse().map(Token).map_err(|_| {
        Refusal::new(Code::OutOfRange, format!("{:?} is not a token", report.token))
            .hint("pass the token back as the claim gave it")
    })?;
    Ok(Report {
        lease: super::lease::parse(&report.lease)?,
        task: TaskId(report.task),
        token,
        outcome: ending(report)?,
        detail: report.result.as_ref().map(|r| Text::from(r.get())),
        manifest: report.manifest.as_ref().map(|manifest| {
            let content = manifest.content.as_ref().map_or("", |c| c.get());
            (manifest_state(manifest.state), Text::from(content))
        }),
        last: report.last,
    })
}

fn ending(report: &report::Report) -> Result<Ending, Refusal> {
    let class = |outcome| match outcome {
        report::Outcome::Success => Ending::Class(Class::Success),
        report::Outcome::Permanent => Ending::Class(Class::Permanent),
        report::Outcome::Transient => Ending::Class(Class::Transient),
        report::Outcome::NotYet => Ending::Class(Class::NotYet),
        report::Outcome::Stopped => Ending::Stopped,
    };
    match (report.outcome, report.exit_code) {
        (Some(outcome), None) => Ok(class(outcome)),
        (None, Some(code)) => Ok(Ending::Exit(code)),
        (Some(_), Some(_)) | (None, None) => {
            Err(Refusal::new(Code::OutOfRange, "a report says how the task ended in one way")
                .hint("give outcome or exit_code, one of them"))
        }
    }
}

fn manifest_state(state: report::ManifestState) -> ManifestState {
    match state {
        report::ManifestState::Complete => ManifestState::Complete,
        report::ManifestState::Partial => ManifestState::Partial,
        report::ManifestState::Empty => ManifestState::Empty,
        report::ManifestState::Removed => ManifestState::Removed,
    }
}

fn outcome(done: reply::Reported) -> &'static str {
    match done {
        reply::Reported::Applied => "applied",
        reply::Reported::RecordedStale => "recorded-stale",
        reply::Reported::AcceptedLate => "accepted-late",
        reply::Reported::Stopped => "stopped",
    }
}
