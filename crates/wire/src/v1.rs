//! The bodies of the API, version 1.
//!
//! One file per noun. What callers send refuses unknown keys, so that a misspelt one is noticed;
//! what they get may grow new keys, and clients pass over those they do not know.
//!
//! Three conventions:
//!
//! - **Numbers.** Tasks, batches and holds are JSON numbers, which stay below 2⁵³. A *token* is a
//!   JSON string: its upper bits hold the store's epoch, so that it may exceed what many JSON
//!   readers keep exactly. A worker passes it back as it came.
//! - **Moments** are RFC 3339 texts in UTC, lengths of time whole seconds with `_s` in their name.
//! - **JSON inside JSON** (payload, attributes, result, manifest) is kept as it was written.

pub mod archive;
pub mod batch;
pub mod claim;
pub mod collection;
pub mod dry_run;
pub mod event;
pub mod feed;
pub mod flow;
pub mod hold;
pub mod item;
pub mod key;
pub mod lease;
pub mod login;
pub mod outbox;
pub mod output;
pub mod page;
pub mod problem;
pub mod report;
pub mod robot;
pub mod round;
pub mod schedule;
pub mod status;
pub mod task;
pub mod time;
pub mod why;
pub mod worker;

pub use page::Page;
pub use problem::Problem;

/// JSON that is passed on as it was written.
pub type Raw = Box<serde_json::value::RawValue>;

/// Takes text that was checked when it was stored; nothing when it is empty.
#[must_use]
pub fn raw(text: &str) -> Option<Raw> {
    let parsed = serde_json::value::RawValue::from_string(text.to_owned());
    (!text.is_empty()).then_some(parsed.ok()).flatten()
}

/// JSON where the text is JSON, and the text as a JSON string where it is not.
#[must_use]
pub fn raw_or_text(text: &str) -> Option<Raw> {
    let quoted = || raw(&serde_json::Value::from(text).to_string());
    if text.is_empty() { None } else { raw(text).or_else(quoted) }
}
