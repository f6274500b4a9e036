-- The file of an embedded store. Any SQL tool may read it while the server runs (open it
-- read-only); nobody but the server may write it. The views at the end (items, tasks, events) are
-- for people.
--
-- Times are microseconds since 1970-01-01T00:00:00Z. Names that repeat (kinds, event names, actors,
-- workers) stand once in `word`. States are 0 waiting, 1 held, 2 ready, 3 leased, 4 done, 5 failed,
-- 6 cancelled. An absent text is '' and an absent number NULL: neither takes room.
--
-- Rows that change often are small and stand apart from bodies, which are written once, and from
-- history, which only grows. An index that a hot row would touch needs a reason; it is given there.

-- What the file is: `schema` (number of the newest migration), `incarnation` (random, made once),
-- `boot` (how often the file was opened for writing).
create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- Names that repeat.
create table word (
    id   integer primary key,
    text text not null unique
) strict;

-- Running numbers; `clock` is the highest time a commit used, `epoch` the upper bits of tokens.
create table counter (
    name  text primary key,
    value integer not null
) strict, without rowid;

create table collection (
    id     integer primary key,
    name   text not null unique,
    item   integer not null,            -- the item that carries the collection's own events
    served integer not null,            -- the turn in which a claim last took work here
    notify text not null,               -- JSON array of destinations, '' when there are none
    robots text not null                -- JSON array of the flows items may wake, '' likewise
) strict;

create table flow (
    id         integer primary key,
    collection integer not null,
    name       text not null,
    version    integer not null,        -- the version new rounds use
    removed    integer not null,        -- 1: no new rounds
    taken      blob,                    -- lease of the claimant of a singleton
    unique (collection, name)
) strict;

create table version (
    id         integer primary key,
    flow       integer not null,
    digest     blob not null,           -- SHA-256 of the definition
    definition text not null,           -- canonical JSON
    at         integer not null,        -- when it was first seen
    unique (flow, digest)
) strict;

create table queue (
    id         integer primary key,
    collection integer not null,
    flow       integer not null,
    step       text not null,
    labels     text not null,           -- JSON array, '' when there are none
    waiting    integer not null,        -- tasks per state, kept with every change
    held       integer not null,
    ready      integer not null,
    leased     integer not null,
    done       integer not null,
    failed     integer not null,
    cancelled  integer not null,
    unique (flow, step)
) strict;

create table hold (
    id      integer primary key,
    scope   integer not null,           -- 0 collection, 1 flow, 2 step, 3 batch, 4 item, 5 task
    subject integer not null,           -- the number of what it brakes
    reason  text not null,
    owner   integer not null,           -- word
    since   integer not null,
    until   integer,
    unique (scope, subject)
) strict;

create table schedule (
    id         integer primary key,
    flow       integer not null,
    item       integer not null,
    cron       text not null,
    tz         text not null,
    missed     integer not null,        -- 0 latest, 1 all, 2 skip
    overlap    integer not null,        -- 0 skip, 1 allow, 2 replace
    last_slot  integer not null,
    last_round integer not null,
    removed    integer not null
) strict;

create table item (
    id            integer primary key,
    collection    integer not null,
    kind          integer not null,     -- word
    key           text not null,
    priority      integer not null,
    first_seen_at integer not null,
    ordinal       integer,
    types         text not null,        -- JSON array, '' when there are none
    attributes    text not null,        -- JSON object, ''
    changed_seq   integer not null,     -- number of the event that last changed its content
    deleted       integer not null
) strict;

create unique index item_key on item (collection, kind, key);
-- Robots are asked about every item of a collection, in order of number.
create index item_collection on item (collection);

-- History: what happened to an item, numbered from 1 without gaps. The newest row is its head.
create table event (
    item          integer not null,
    n             integer not null,
    name          integer not null,     -- word
    at            integer not null,
    actor         integer not null,     -- word
    task          integer,
    "to"          integer,              -- the state the task went into
    token         integer,
    outcome       integer,              -- 0 success, 1 failure
    detail        text,                 -- may be pruned, its digest stays
    detail_digest blob,
    hash          blob not null         -- SHA-256 over this event and the hash of the one before
) strict;
-- Events are appended in the order of their commits, and found by item through a small index. Kept
-- in order of item instead, the second and third event of an item split full pages: 7.1 instead of
-- 5.1 KB were written per lifecycle at 6,400 operations per commit, 20.5 instead of 15.1 at 1,000.
create unique index event_item on event (item, n);

-- One row per commit. `seal` is the SHA-256 over n, at, prev and the hashes of the events; `refs`
-- names these events in order, as pairs of varints (7 bits per byte, lowest first, high bit = more
-- follows): the difference of the item's number to the one before, zigzag-coded, then n.
create table "commit" (
    n    integer primary key,
    at   integer not null,
    prev blob not null,
    seal blob not null,
    refs blob not null
) strict;

-- An item's newest event of one name.
create table mark (
    item     integer not null,
    name     integer not null,          -- word
    n        integer not null,
    outcome  integer not null,          -- 0 success, 1 failure
    based_on integer not null,          -- the item's changed_seq it was based on
    at       integer not null,
    hidden   integer not null,          -- 1: rewound, invisible to triggers
    primary key (item, name)
) strict, without rowid;

-- What never changes about a task.
create table body (
    id          integer primary key,
    item        integer not null,
    queue       integer not null,
    flow        integer not null,
    version     integer not null,
    part        text not null,
    round       integer not null,
    solo        integer not null,       -- 1: the only task of its round
    batch       integer,
    payload     text not null,          -- JSON object, ''
    created_at  integer not null,
    fingerprint text not null,
    depth       integer not null
) strict;

-- A task's natural key. The round stands before the part, so that an item's newest round in a queue
-- is found by one seek.
create unique index body_key on body (item, queue, round, part);
create index body_batch on body (batch) where batch is not null;

-- What changes about a task.
create table task (
    id         integer primary key,
    state      integer not null,
    token      integer not null,
    attempts   integer not null,
    failures   integer not null,
    lapses     integer not null,
    priority   integer not null,
    ord        integer not null,
    ready_at   integer not null,
    spot       integer not null,        -- where it waits: 0 nowhere, 1 queue, 2 line, 3 timer
    admitted   integer not null,
    blockers   integer not null,
    lease      blob,
    hold       integer,
    cause      integer not null,        -- 0 none, 1 superseded, 2 trigger gone, 3 skipped,
                                        -- 4 operator, 5 permanent, 6 exhausted, 7 poison,
                                        -- 8 timeout, 9 transient, 10 not yet
    cause_task integer,                 -- by which task it was superseded
    since      integer not null
) strict;

-- Tasks that need somebody: waiting, held, failed, cancelled. Ready, leased and done tasks are left
-- out, so the hot path never touches it. (`in` instead of `or` would make a temporary table for
-- each row that is written: 3 µs.)
create index task_stuck on task (state) where state < 2 or state > 4;

-- Rounds with more than one task.
create table round (
    item      integer not null,
    flow      integer not null,
    round     integer not null,
    waiting   integer not null,         -- tasks per state
    held      integer not null,
    ready     integer not null,
    leased    integer not null,
    done      integer not null,
    failed    integer not null,
    cancelled integer not null,
    blocking  integer not null,
    batch     integer,
    primary key (item, flow, round)
) strict, without rowid;

-- Ready tasks of a queue in their order; `behind` is the priority, negated.
create table ready (
    queue  integer not null,
    behind integer not null,
    ord    integer not null,
    task   integer not null,
    primary key (queue, behind, ord, task)
) strict, without rowid;

-- Tasks in the line of a limit that is used up.
create table line (
    slots  text not null,
    behind integer not null,
    ord    integer not null,
    task   integer not null,
    primary key (slots, behind, ord, task)
) strict, without rowid;

-- Ready tasks whose time has not come.
create table timer (
    at   integer not null,
    task integer not null,
    primary key (at, task)
) strict, without rowid;

-- Open tasks of items with an ordinal.
create table instance (
    queue   integer not null,
    ordinal integer not null,
    task    integer not null,
    primary key (queue, ordinal, task)
) strict, without rowid;

-- The newest planned instance of a step on items with an ordinal.
create table newest (
    queue   integer primary key,
    ordinal integer not null,
    task    integer not null
) strict;

-- Tasks that met a hold.
create table held (
    hold integer not null,
    task integer not null,
    primary key (hold, task)
) strict, without rowid;

-- Slots of limits.
create table slots (
    key  text primary key,
    max  integer not null,
    used integer not null
) strict, without rowid;

-- Unsatisfied dependencies: `task` waits for a task (absent 0, target) or for a task that does not
-- exist yet (absent 1, address).
create table edge (
    absent  integer not null,
    target  integer not null,           -- 0 when absent
    address text not null,              -- '' when not absent
    task    integer not null,
    settled integer not null,           -- 1: any end satisfies it; 0: only done or skipped
    "inner" integer not null,           -- 1: both ends are of one round or revision
    primary key (absent, target, address, task)
) strict, without rowid;

create index edge_task on edge (task, absent, target, address);

create table lease (
    id         blob not null unique,    -- 16 random bytes
    worker     integer not null,        -- word
    actor      integer not null,        -- word
    ttl        integer not null,        -- microseconds
    granted_at integer not null,
    expires_at integer not null,
    due_at     integer not null,        -- when something is due next: expiry, deadline, silence
    grips      text not null            -- JSON array of [task, token, basis, stopping, deadline,
                                        -- silent_at]
) strict;

create index lease_due on lease (due_at, id);

create table batch (
    id         integer primary key,
    collection integer not null,
    item       integer not null,        -- the item that carries the batch's own events
    state      integer not null,        -- 0 open, 1 processing, 2 reporting, 3 completed, 4 failed,
                                        -- 5 deleted
    total      integer not null,
    open       integer not null,
    done       integer not null,
    failed     integer not null,
    cancelled  integer not null,
    generation integer not null
) strict;

create table member (
    batch integer not null,
    n     integer not null,
    item  integer not null,
    flow  integer not null,
    round integer not null,
    solo  integer,                      -- its task, if the round has only one
    primary key (batch, n)
) strict, without rowid;

-- Durable follow-up of a fact that was too large for its commit.
create table errand (
    id      integer primary key,
    follow  integer not null,           -- 0 settled, 1 bind, 2 supersede, 3 wake, 4 fill,
                                        -- 5 release, 6 report, 7 cancel batch,
                                        -- 8 delete batch, 9 retry batch,
                                        -- 10 delete item, 11 reprioritise
    subject integer not null,           -- the number of the task, item, flow, hold or batch
    address text not null,              -- of the task that was depended on before it existed
    amount  integer not null,           -- the new priority
    cursor  integer not null,
    actor   integer not null,           -- word
    since   integer not null
) strict;

create table destination (
    key    text primary key,
    next   integer not null,            -- number of the next letter
    tries  integer not null,
    due_at integer
) strict, without rowid;

create index destination_due on destination (due_at, key) where due_at is not null;

create table letter (
    destination text not null,
    n           integer not null,
    body        text not null,
    at          integer not null,
    primary key (destination, n)
) strict;

-- Idempotency keys.
create table idem (
    key     text primary key,
    digest  blob not null,              -- SHA-256 of the request
    made    integer not null,           -- 0 round, 1 event, 2 batch, 3 item, 4 hold
    subject integer not null,           -- the number of the item, batch or hold
    flow    integer,                    -- of a round
    n       integer,                    -- number of the round or event
    task    integer                     -- first task of a round
) strict, without rowid;

create table manifest (
    task  integer not null,
    token integer not null,
    state integer not null,             -- 0 complete, 1 partial, 2 empty, 3 removed
    text  text not null,
    at    integer not null,
    primary key (task, token)
) strict;

-- For people.

create view items as
select item.id, collection.name as collection, word.text as kind, item.key, item.priority,
       datetime(item.first_seen_at / 1000000, 'unixepoch') as first_seen_at, item.ordinal,
       item.types, item.attributes, item.changed_seq, item.deleted
from item
join collection on collection.id = item.collection
join word on word.id = item.kind;

create view tasks as
select task.id, flow.name as flow, queue.step, body.item, body.part, body.round,
       case task.state when 0 then 'waiting' when 1 then 'held' when 2 then 'ready'
           when 3 then 'leased' when 4 then 'done' when 5 then 'failed'
           else 'cancelled' end as state,
       task.token, task.attempts, task.priority, task.blockers, lower(hex(task.lease)) as lease,
       datetime(task.since / 1000000, 'unixepoch') as since, body.batch, body.payload
from task
join body on body.id = task.id
join queue on queue.id = body.queue
join flow on flow.id = body.flow;

create view events as
select event.item, event.n, name.text as name,
       datetime(event.at / 1000000, 'unixepoch') as at, actor.text as actor, event.task,
       case event."to" when 0 then 'waiting' when 1 then 'held' when 2 then 'ready'
           when 3 then 'leased' when 4 then 'done' when 5 then 'failed'
           when 6 then 'cancelled' end as "to",
       event.token, case event.outcome when 0 then 'success' when 1 then 'failure' end as outcome,
       event.detail, lower(hex(event.hash)) as hash
from event
join word as name on name.id = event.name
join word as actor on actor.id = event.actor;
