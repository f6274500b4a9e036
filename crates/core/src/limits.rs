//! Every limit of the rule-book, with its unit in its name.

/// Longest name of a collection, kind, flow, step, event, worker or label.
pub const NAME_BYTES_MAX: usize = 128;
/// Longest key of an item or part.
pub const KEY_BYTES_MAX: usize = 1_024;
/// Largest payload (the parameters a task is given).
pub const PAYLOAD_BYTES_MAX: usize = 65_536;
/// Largest attributes text of an item.
pub const ATTRIBUTES_BYTES_MAX: usize = 65_536;
/// Largest detail, result or manifest carried by one event or report.
pub const DETAIL_BYTES_MAX: usize = 262_144;
/// Longest sentence given as a reason.
pub const REASON_BYTES_MAX: usize = 2_000;
/// Longest idempotency key.
pub const IDEM_BYTES_MAX: usize = 256;
/// Most tasks one claim may ask for.
pub const CLAIM_TASKS_MAX: u32 = 1_000;
/// Most labels a worker or step may have.
pub const LABELS_MAX: usize = 64;
/// Most steps of one flow.
pub const STEPS_MAX: usize = 200;
/// Most dependencies one submission may name.
pub const DEPENDS_MAX: usize = 1_000;
/// Most rows one decision may touch for its consequences before they become an errand.
pub const FOLLOW_ROWS_MAX: usize = 400;
/// Entries an errand takes from its list at a time.
pub const ERRAND_CHUNK_MAX: usize = 200;
/// Items a robot is asked about at a time when it is registered, changed or removed.
pub const FILL_ITEMS_MAX: usize = 1_000;
/// Rows one piece of that may touch.
pub const FILL_ROWS_MAX: usize = 2_000;
/// Rounds robots may open on one item by waking each other, on top of one for each robot there is,
/// before the item is held.
pub const LOOP_ROUNDS_MAX: u32 = 100;
/// A round of the same robot on the same item so soon after the last one counts as caused by it.
pub const LOOP_GAP_SECONDS: i64 = 10;
/// Most robots of one collection.
pub const ROBOTS_MAX: usize = 1_000;
/// Most event names one item may have marks of; more can happen to it, but are not rewound.
pub const MARKS_MAX: usize = 1_000;
/// Leases, timers, holds or errands one duty command looks at.
pub const DUTY_ROWS_MAX: usize = 200;
/// Entries of a line that a claim loads beyond what it was asked for.
pub const FRONT_SLACK: usize = 64;
/// Highest and lowest priority.
pub const PRIORITY_MAX: i32 = 1_000_000;
/// Shortest and longest lease, in seconds.
pub const TTL_SECONDS_MIN: i64 = 1;
/// Longest lease, in seconds: seven days.
pub const TTL_SECONDS_MAX: i64 = 604_800;
/// Most grants of one task that may lapse before it counts as poison.
pub const LAPSES_MAX: u32 = 3;
/// Longest path or URL of a repository, branch or identity.
pub const PLACE_BYTES_MAX: usize = 4_096;
/// Archives a shard may have.
pub const ARCHIVES_MAX: usize = 10_000;
/// How far ahead of the planned revision a notice may be.
pub const NOTICE_AHEAD_MAX: i64 = 1_000_000;
/// Changed paths that are passed on with a revision.
pub const CHANGED_PATHS_MAX: usize = 10_000;
/// Longest part of a commit message that is kept.
pub const MESSAGE_BYTES_MAX: usize = 1_024;
/// Complaints that are kept of an invalid definition.
pub const COMPLAINTS_MAX: usize = 50;
/// Revisions made by tasks that may stand behind one another before nothing more is run, unless the
/// archive says otherwise.
pub const CAUSAL_DEPTH: u32 = 8;
/// The most an archive may say.
pub const CAUSAL_DEPTH_MAX: u32 = 64;
/// Keys there may be, revoked ones that are still remembered included.
pub const KEYS_MAX: usize = 10_000;
/// Most collections one key may be limited to.
pub const KEY_COLLECTIONS_MAX: usize = 256;
/// How long a link that signs in may be used, once.
pub const LINK_SECONDS_MAX: i64 = 600;
/// A session ends after this time, used or not.
pub const SESSION_SECONDS_MAX: i64 = 604_800;
/// A session that nobody uses ends after this time, as far as its use was noted.
pub const SESSION_IDLE_SECONDS_MAX: i64 = 43_200;
/// How often the use of a session is noted, so that reading a page is no commit.
pub const SESSION_NOTED_SECONDS: i64 = 3_600;
/// Holds a shard may have at once.
pub const HOLDS_MAX: usize = 10_000;
