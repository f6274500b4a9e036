//! History: events, the chain of their hashes, and the seal of each commit.
//!
//! An event is a fact about one item, numbered from 1 without gaps, and chained: its hash covers
//! canonical bytes (stream, number, previous hash, name, time, actor, task, state, token, outcome,
//! digest of the detail) and no internal number, so that a history keeps its meaning when it is
//! moved to another store, and its detail may be pruned while its digest stays.

use sha2::{Digest as _, Sha256};

use crate::ids::{ItemId, TaskId, Time, Token};
use crate::task::State;
use crate::text::{Name, Text};

/// A SHA-256.
pub type Hash = [u8; 32];

/// What came of it, where something did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It worked.
    Success,
    /// It did not.
    Failure,
}

impl Outcome {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
        }
    }
}

/// A fact about an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The item.
    pub item: ItemId,
    /// Number within the item, from 1.
    pub n: i64,
    /// What happened.
    pub name: Name,
    /// When, by the store's clock.
    pub at: Time,
    /// Who did it.
    pub actor: Name,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The state that task went into, if this is a transition.
    pub to: Option<State>,
    /// The token of the grant it belongs to.
    pub token: Option<Token>,
    /// What came of it.
    pub outcome: Option<Outcome>,
    /// More, as text (JSON where a machine wrote it).
    pub detail: Option<Text>,
    /// SHA-256 of the detail; stays when the detail is pruned.
    pub detail_digest: Option<Hash>,
    /// Hash of the canonical bytes.
    pub hash: Hash,
}

/// What whoever adds an event says about it. It is kept with the event's detail and is information
/// only: events are ordered by their numbers, and who added one is known anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// When it happened.
    pub at: Option<Text>,
    /// Who or what did it.
    pub agent: Option<Text>,
    /// What it is called where it comes from.
    pub id: Option<Text>,
    /// It comes from a history kept elsewhere.
    pub imported: bool,
}

/// How a detail begins that holds what was said about its event.
pub const SAID: &str = "{\"said\":";

impl Said {
    /// The detail of an event about which this is said.
    #[must_use]
    pub fn around(&self, detail: Option<&str>) -> Text {
        let mut said = serde_json::Map::new();
        if self.imported {
            said.insert("imported".to_owned(), true.into());
        }
        for (key, text) in [("at", &self.at), ("agent", &self.agent), ("id", &self.id)] {
            if let Some(text) = text {
                said.insert(key.to_owned(), (&**text).into());
            }
        }
        let said = serde_json::Value::Object(said);
        match detail.map(|d| serde_json::from_str::<Box<serde_json::value::RawValue>>(d).ok()) {
            None => format!("{SAID}{said}}}").into(),
            Some(Some(raw)) => format!("{SAID}{said},\"detail\":{raw}}}").into(),
            // Not JSON: kept as a text.
            Some(None) => {
                let text = serde_json::Value::from(detail.unwrap_or_default());
                format!("{SAID}{said},\"detail\":{text}}}").into()
            }
        }
    }

    /// What was said about an event, and the detail proper, out of its detail.
    #[must_use]
    pub fn within(detail: &str) -> Option<(Self, Option<String>)> {
        if !detail.starts_with(SAID) {
            return None;
        }
        let whole: serde_json::Value = serde_json::from_str(detail).ok()?;
        let said = whole.get("said")?;
        let text = |key: &str| said.get(key).and_then(|v| v.as_str()).map(Text::from);
        let imported = said.get("imported").and_then(serde_json::Value::as_bool).unwrap_or(false);
        let said = Self { at: text("at"), agent: text("agent"), id: text("id"), imported };
        Some((said, whole.get("detail").map(ToString::to_string)))
    }
}

/// The marks an event of the rules makes invisible to triggers, out of its detail.
#[must_use]
pub fn hides(event: &Event) -> Vec<Name> {
    let own = event.name.starts_with("item.") || event.name.starts_with("task.");
    let Some(detail) = event.detail.as_deref().filter(|d| own && d.contains("\"hides\"")) else {
        return Vec::new();
    };
    let whole: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
    let names = whole.get("hides").and_then(|v| v.as_array()).map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(|name| Name::new(name.as_str()?).ok()).collect()
}

/// An item's newest event number and hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Number of the newest event, 0 before the first.
    pub n: i64,
    /// Its hash, zero before the first.
    pub hash: Hash,
}

/// What an event says, in words that mean the same in every store.
#[derive(Clone, Copy, Debug)]
pub struct Canon<'a> {
    /// `collection/kind/key`.
    pub stream: &'a str,
    /// `flow.step#part~round` of the task, empty when there is none.
    pub task: &'a str,
}

/// The hash of an event that follows `prev`.
#[must_use]
pub fn chain(event: &Event, canon: Canon<'_>, prev: &Hash) -> Hash {
    let mut bytes = Vec::with_capacity(256);
    field(&mut bytes, canon.stream.as_bytes());
    bytes.extend_from_slice(&event.n.to_be_bytes());
    bytes.extend_from_slice(prev);
    field(&mut bytes, event.name.as_bytes());
    bytes.extend_from_slice(&event.at.0.to_be_bytes());
    field(&mut bytes, event.actor.as_bytes());
    field(&mut bytes, canon.task.as_bytes());
    field(&mut bytes, event.to.map_or("", State::as_str).as_bytes());
    bytes.extend_from_slice(&event.token.unwrap_or_default().0.to_be_bytes());
    field(&mut bytes, event.outcome.map_or("", Outcome::as_str).as_bytes());
    bytes.extend_from_slice(event.detail_digest.as_ref().unwrap_or(&[0; 32]));
    Sha256::digest(&bytes).into()
}

/// The digest of a detail text.
#[must_use]
pub fn digest(text: &str) -> Hash {
    Sha256::digest(text.as_bytes()).into()
}

fn field(bytes: &mut Vec<u8>, value: &[u8]) {
    // Length first, so that no two different lists of fields have the same bytes.
    bytes.extend_from_slice(&(value.len() as u64).to_be_bytes());
    bytes.extend_from_slice(value);
}

/// One commit of one shard: proves that the log is whole, and is the feed's gapless cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Number within the shard, from 1.
    pub n: i64,
    /// When.
    pub at: Time,
    /// The seal of the commit before.
    pub prev: Hash,
    /// This commit's seal.
    pub seal: Hash,
    /// The events it added, as (item, number), in order.
    pub events: Vec<(ItemId, i64)>,
}

/// Seals the events of one commit onto the commit before.
#[must_use]
pub fn seal(n: i64, at: Time, prev: Hash, events: &[Event]) -> Commit {
    seal_hashes(n, at, prev, events.iter().map(|e| (e.item, e.n, e.hash)))
}

/// As [`seal`], from the place and hash of each event.
#[must_use]
pub fn seal_hashes(
    n: i64,
    at: Time,
    prev: Hash,
    events: impl ExactSizeIterator<Item = (ItemId, i64, Hash)>,
) -> Commit {
    let mut bytes = Vec::with_capacity(64 + events.len() * 32);
    bytes.extend_from_slice(&n.to_be_bytes());
    bytes.extend_from_slice(&at.0.to_be_bytes());
    bytes.extend_from_slice(&prev);
    let mut refs = Vec::with_capacity(events.len());
    for (item, n, hash) in events {
        bytes.extend_from_slice(&hash);
        refs.push((item, n));
    }
    Commit { n, at, prev, seal: Sha256::digest(&bytes).into(), events: refs }
}

/// `flow.step#part~round`: what a task is within its item, as events mean it.
#[must_use]
pub fn task_text(flow: &str, step: &str, part: &str, round: u32) -> String {
    use std::fmt::Write as _;

    use crate::address::{escape_key, escape_name};

    let mut text = String::with_capacity(48);
    escape_name(&mut text, flow);
    text.push('.');
    escape_name(&mut text, step);
    if !part.is_empty() {
        text.push('#');
        escape_key(&mut text, part);
    }
    if round != 1 {
        let _ = write!(text, "~{round}");
    }
    text
}
