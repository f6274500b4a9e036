//! Letters about archives: what needs somebody is told to those the collection names.

use serde_json::{Value, json};

use super::desk::{Desk, Rule};
use crate::ids::CollectionId;
use crate::rows::{Body, Task};
use crate::task::State;
use crate::text::{Name, Text};

impl Desk<'_> {
    /// Writes to everybody who is told about an archive. `more` is what there is to say.
    pub(super) fn alarm(&mut self, home: CollectionId, event: &Name, more: &Value) -> Rule<()> {
        let row = self.collection(home)?;
        if row.notify.is_empty() {
            return Ok(());
        }
        let mut letter = json!({ "archive": row.name.as_str(), "event": event.as_str() });
        if let (Some(letter), Some(more)) = (letter.as_object_mut(), more.as_object()) {
            letter.extend(more.clone());
        }
        let letter = Text::from(letter.to_string());
        for to in row.notify.clone() {
            self.post(&to, &letter)?;
        }
        Ok(())
    }

    /// A task of a revision that failed for good.
    pub(super) fn alarm_of_failure(&mut self, task: &Task, body: &Body) -> Rule<()> {
        let home = self.flow(body.flow)?.collection;
        if task.state != State::Failed || self.view.archives.get(&home)?.is_none() {
            return Ok(());
        }
        let more = json!({
            "revision": self.item(body.item)?.ordinal,
            "task": task.id.0,
            "flow": self.flow(body.flow)?.name.as_str(),
            "name": self.queue(body.queue)?.step.as_str(),
            "cause": task.cause.as_str(),
            "attempts": task.attempts,
        });
        self.alarm(home, &Name::trusted("task.failed"), &more)
    }
}
