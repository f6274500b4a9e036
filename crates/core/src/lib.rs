//! The rules of Armarius.
//!
//! Everything the system may decide is decided here, by one pure function: [`decide`]. It reads and
//! writes a [`View`] – a sheet of rows somebody else loaded – and says [`Stop::Need`] until the
//! sheet holds enough, then answers. No clock, no randomness, no files, no hash order: time and
//! random bits arrive inside the [`Call`].
//!
//! Reading order: [`ids`], [`text`], [`address`] (words) · [`task`] (the transition table) ·
//! [`flow`] (definitions) · [`rows`] (what is remembered) · [`event`] (history) · [`view`]
//! (the sheet) · [`command`], [`reply`], [`refusal`] (the way in and out) · [`mod@decide`] (the
//! rules themselves) · [`why`], [`fold`], [`audit`], [`invariants`] (what can be asked and
//! checked).

pub mod address;
pub mod audit;
pub mod command;
pub mod decide;
pub mod event;
pub mod flow;
pub mod fold;
pub mod ids;
pub mod invariants;
pub mod limits;
pub mod refusal;
pub mod reply;
pub mod rows;
pub mod task;
pub mod text;
pub mod view;
pub mod why;

pub use command::{Call, Command};
pub use decide::{decide, foresee};
pub use refusal::{Code, Refusal};
pub use reply::Reply;
pub use view::{Need, Stop, View};
