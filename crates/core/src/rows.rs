//! What is remembered: one type per row. Stores keep these and nothing else.
//!
//! Rows that change often ([`Task`], [`Lease`], ranks in lines) are small and stand apart from
//! bodies that never change ([`Item`], [`Body`]) and from history, which only grows.

mod archive;
mod batch;
mod errand;
mod idem;
mod item;
mod key;
mod lease;
mod outbox;
mod registry;
mod round;
mod task;

pub use archive::{Archive, ArchiveKind, ArchiveState};
pub use batch::{Batch, BatchState, Member};
pub use errand::{Errand, Follow};
pub use idem::{Idem, Made};
pub use item::{Item, ItemKey, Mark};
pub use key::{Key, Role};
pub use lease::{Grip, Lease, Manifest, ManifestState};
pub use outbox::{Destination, Letter};
pub use registry::{Collection, Counter, FlowRow, Hold, Queue, Schedule, Scope, Version};
pub use round::{Round, RoundKey, RoundStatus};
pub use task::{Body, Edge, Rank, Slots, Spot, Target, Task, TaskKey};
