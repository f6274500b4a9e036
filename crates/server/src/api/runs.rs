//! The runs of tasks, as their events tell: when each was last taken up, by whom, and its end.

use std::collections::BTreeMap;

use armarius_core::event::Event;
use armarius_core::ids::TaskId;
use armarius_core::task::State as Stand;
use armarius_wire::v1::time;
use serde::Deserialize;

/// The last run of each task.
pub(crate) struct Runs(BTreeMap<TaskId, Run>);

/// The last run of a task.
#[derive(Clone, Default)]
pub(crate) struct Run {
    pub(crate) started_at: String,
    /// When that run ended; of a task that never ran, when it settled.
    pub(crate) ended_at: String,
    pub(crate) worker: String,
    pub(crate) exit_code: Option<i64>,
    /// What whoever cancelled it said.
    pub(crate) reason: String,
}

impl Runs {
    pub(crate) fn of<'e>(events: impl IntoIterator<Item = &'e Event>) -> Self {
        let mut runs: BTreeMap<TaskId, Run> = BTreeMap::new();
        for event in events {
            let (Some(task), Some(to)) = (event.task, event.to) else { continue };
            runs.entry(task).or_default().go_on(event, to);
        }
        Self(runs)
    }

    /// The last run of a task; empty when it never ran.
    pub(crate) fn last(&self, task: TaskId) -> Run {
        self.0.get(&task).cloned().unwrap_or_default()
    }
}

impl Run {
    fn go_on(&mut self, event: &Event, to: Stand) {
        let detail = event.detail.as_deref();
        match to {
            Stand::Leased => {
                let worker = detail.unwrap_or(&event.actor).to_owned();
                *self = Self { started_at: time::text(event.at), worker, ..Self::default() };
            }
            Stand::Done | Stand::Failed => self.end(event),
            // One that had failed before ended then.
            Stand::Cancelled => {
                if self.ended_at.is_empty() {
                    self.end(event);
                }
                if let Some(said) = detail.filter(|said| !said.starts_with('{')) {
                    said.clone_into(&mut self.reason);
                }
            }
            Stand::Waiting | Stand::Held | Stand::Ready => {
                self.ended_at.clear();
                self.reason.clear();
            }
        }
    }

    fn end(&mut self, event: &Event) {
        self.ended_at = time::text(event.at);
        self.exit_code = event.detail.as_deref().and_then(exit_code);
    }
}

/// What a program ended with, as its worker says.
pub(crate) fn exit_code(detail: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct Ended {
        exit_code: Option<i64>,
    }
    serde_json::from_str::<Ended>(detail).ok()?.exit_code
}
