//! Letters about archives: what needs somebody is told to those the collection names.

use serde_json::{Value, json};

use super::desk::{Desk, Rule};
use crate::ids::CollectionId;
use crate::limits::DETAIL_BYTES_MAX;
use crate::rows::{Body, Task};
use crate::task::State;
use crate::text::{Name, Text};

/// What there is to say, or where it would be too much, where to find it.
fn letter(archive: &Name, event: &Name, more: &Value) -> Text {
    let mut letter = json!({ "archive": archive.as_str(), "event": event.as_str() });
    if let (Some(letter), Some(more)) = (letter.as_object_mut(), more.as_object()) {
        letter.extend(more.clone());
    }
    let whole = letter.to_string();
    if whole.len() <= DETAIL_BYTES_MAX {
        return whole.into();
    }
    let revision = &more["revision"];
    let (archive, event) = (archive.as_str(), event.as_str());
    json!({ "archive": archive, "event": event, "revision": revision }).to_string().into()
}

impl Desk<'_> {
    /// Writes to everybody who is told about an archive. `more` is what there is to say.
    pub(super) fn alarm(&mut self, home: CollectionId, event: &Name, more: &Value) -> Rule<()> {
        let row = self.collection(home)?;
        if row.notify.is_empty() {
            return Ok(());
        }
        let letter = letter(&row.name, event, more);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_would_be_too_long_says_where_to_look() {
        let (archive, event) = (Name::trusted("books"), Name::trusted("revision.invalid"));
        let whole = letter(&archive, &event, &json!({ "revision": 7, "problems": ["x"] }));
        assert!(whole.contains("problems"), "{whole}");
        let long = "x".repeat(DETAIL_BYTES_MAX);
        let short = letter(&archive, &event, &json!({ "revision": 7, "problems": [long] }));
        let wanted = r#"{"archive":"books","event":"revision.invalid","revision":7}"#;
        assert_eq!(&*short, wanted);
    }
}
