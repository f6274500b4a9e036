//! Which steps there are and how each is run, so that a worker gets only what it can run.
//!
//! The rules know labels, not ways of running. A claim that names ways is therefore turned into one
//! that names steps, and is made anew when a flow changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use armarius_core::flow::{Action, RUN_OUTSIDE, Step};
use armarius_core::text::Name;
use armarius_core::view::Need;
use armarius_wire::v1::claim::Way;
use tokio::sync::watch;

use crate::look::{Look, Lost};

/// One step of one flow of one collection.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) collection: Name,
    pub(crate) flow: Name,
    pub(crate) step: Name,
    pub(crate) way: Way,
}

/// What is known about steps, until a flow changes.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Counts changes of flows.
    changes: watch::Sender<u64>,
    kept: Mutex<Option<(u64, Arc<[Known]>)>>,
    /// Nobody waits for a flow any more.
    closed: AtomicBool,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            changes: watch::Sender::new(0),
            kept: Mutex::new(None),
            closed: AtomicBool::new(false),
        }
    }
}

impl Steps {
    /// A flow was put or removed.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// The server stops: whoever waits for a flow is sent home.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.changed();
    }

    /// Whether the server stops.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Tells of changes from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What was read at this count of changes.
    pub(crate) fn kept(&self, at: u64) -> Option<Arc<[Known]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(n, _)| *n == at).map(|(_, known)| Arc::clone(known))
    }

    /// Keeps what was read after this count of changes.
    pub(crate) fn keep(&self, at: u64, known: &Arc<[Known]>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((at, Arc::clone(known)));
    }
}

/// Reads every step of every flow that is not removed.
pub(crate) fn read(look: &mut Look<'_>) -> Result<Arc<[Known]>, Lost> {
    let versions: Vec<Need> =
        look.view.flows.iter().map(|(_, flow)| Need::Version(flow.version)).collect();
    look.load(&versions)?;
    look.ask(|view| {
        let mut known = Vec::new();
        for (_, queue) in view.queues.iter() {
            let (flow, home) =
                (view.flows.get(&queue.flow)?, view.collections.get(&queue.collection)?);
            let (Some(flow), Some(home)) = (flow, home) else { continue };
            let Some(version) = view.versions.get(&flow.version)? else { continue };
            // A step that the newest version dropped may have tasks, but nobody knows its way.
            let Some(step) = version.def.step(&queue.step) else { continue };
            known.push(Known {
                collection: home.name.clone(),
                flow: flow.name.clone(),
                step: queue.step.clone(),
                way: way_of(step),
            });
        }
        Ok(known.into())
    })
}

/// How a step is run.
pub(crate) fn way_of(step: &Step) -> Way {
    match &step.action {
        Action::Run(name) if name.as_str() == RUN_OUTSIDE => Way::Outside,
        Action::Run(_) => Way::BuiltIn,
        Action::Command(_) | Action::Script { .. } if step.image.is_some() => Way::Image,
        Action::Command(_) => Way::Command,
        Action::Script { .. } => Way::Script,
    }
}
