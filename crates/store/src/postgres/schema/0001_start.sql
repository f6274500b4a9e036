-- The tables of a store that many servers share. They stand in a schema of their own; any tool may
-- read them, nobody but Armarius may write them. The views at the end (items, tasks, events) are
-- for people.
--
-- Everything belongs to a shard, which is written by one transaction at a time: each takes the
-- shard's advisory lock before it reads. Numbers carry the shard that made them in their upper 16
-- bits and never meet.
--
-- Times are microseconds since 1970-01-01T00:00:00Z. Names that repeat stand once per shard in
-- `word`. States are 0 waiting, 1 held, 2 ready, 3 leased, 4 done, 5 failed, 6 cancelled. An absent
-- text is '', an absent number NULL. Text is compared by its bytes, JSON is kept as the text it
-- came as.
--
-- Rows that change often are small and stand apart from bodies, which are written once, and from
-- history, which only grows. Columns are in the order that wastes no room. Rows of `task` and
-- `lease` change in place: their pages keep room for it, and no index names what changes. Small
-- tables that turn over quickly are vacuumed early.

create table meta (
    key   text collate "C" primary key,
    value text collate "C" not null
);
comment on table meta is
    'What this is: schema (number of the newest migration), shards (how many there are), '
    'incarnation (random, made once).';

create table shard (
    shard    smallint primary key,
    system   bigint not null,
    timeline bigint not null
);
comment on table shard is 'Each shard, and which server it was last written on.';
comment on column shard.system is 'The server''s system identifier, 0 where it is not told.';
comment on column shard.timeline is 'The server''s timeline: another one after a fail-over.';

create table place (
    name  text collate "C" primary key,
    shard smallint not null check (shard >= 0)
);
comment on table place is 'The shard each collection lives in.';

create table word (
    id    integer not null,
    shard smallint not null,
    text  text collate "C" not null,
    primary key (shard, id),
    unique (shard, text)
);
comment on table word is
    'Names that repeat: kinds, event names, actors, workers. The upper 8 bits of id are the '
    'shard.';

create table tally (
    id    bigint not null,
    rev   bigint not null,
    shard smallint not null,
    kind  smallint not null,
    vals  bigint[] not null,
    primary key (shard, kind, id, rev)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.5);
comment on table tally is
    'Numbers that change with nearly every commit. A new row is added and the one before '
    'removed by its whole key, so that the newest is found at once, however many dead rows an '
    'old snapshot keeps.';
comment on column tally.kind is '0 queue, 1 collection, 2 batch';
comment on column tally.rev is 'The commit that wrote it; the highest one counts.';
comment on column tally.vals is
    'queue: tasks in each of the seven states, then behind, ord and task of a place that no '
    'ready task stands before. collection: the turn in which a claim last took work. batch: '
    'state (0 open, 1 processing, 2 reporting, 3 completed, 4 failed, 5 deleted), total, open, '
    'done, failed, cancelled, generation.';

create table collection (
    id     bigint not null,
    item   bigint not null,
    shard  smallint not null,
    name   text collate "C" not null,
    notify text collate "C" not null,
    robots text collate "C" not null,
    primary key (shard, id),
    unique (shard, name)
);
comment on table collection is 'Collections; what changes often about them stands in tally.';
comment on column collection.item is 'The item that carries the collection''s own events.';
comment on column collection.notify is 'JSON array of destinations.';
comment on column collection.robots is 'JSON array of the flows items may wake.';

create table flow (
    id         bigint not null,
    collection bigint not null,
    version    bigint not null,
    shard      smallint not null,
    removed    boolean not null,
    name       text collate "C" not null,
    taken      bytea,
    primary key (shard, id),
    unique (shard, collection, name)
);
comment on column flow.version is 'The version new rounds use.';
comment on column flow.taken is 'Lease of the claimant of a singleton.';

create table version (
    id         bigint not null,
    flow       bigint not null,
    at         bigint not null,
    shard      smallint not null,
    digest     bytea not null,
    definition text collate "C" not null,
    primary key (shard, id),
    unique (shard, flow, digest)
);
comment on table version is 'Versions of flows, by the SHA-256 of their canonical JSON.';

create table queue (
    id         bigint not null,
    collection bigint not null,
    flow       bigint not null,
    shard      smallint not null,
    way        smallint not null,
    step       text collate "C" not null,
    labels     text collate "C" not null,
    primary key (shard, id),
    unique (shard, flow, step)
);
comment on table queue is 'Queues; how many tasks they have stands in tally.';
comment on column queue.labels is 'JSON array of what a worker must have.';
comment on column queue.way is
    'How the step is run: 0 command, 1 script, 2 image, 3 outside, 4 built-in.';

create table hold (
    id      bigint not null,
    subject bigint not null,
    since   bigint not null,
    until   bigint,
    owner   integer not null,
    shard   smallint not null,
    scope   smallint not null,
    reason  text collate "C" not null,
    primary key (shard, id),
    unique (shard, scope, subject)
);
comment on column hold.scope is '0 collection, 1 flow, 2 step, 3 batch, 4 item, 5 task';
comment on column hold.subject is 'The number of what it brakes.';

create table schedule (
    id         bigint not null,
    flow       bigint not null,
    item       bigint not null,
    last_slot  bigint not null,
    last_round bigint not null,
    shard      smallint not null,
    missed     smallint not null,
    overlap    smallint not null,
    removed    boolean not null,
    cron       text collate "C" not null,
    tz         text collate "C" not null,
    primary key (shard, id)
);
comment on column schedule.missed is '0 latest, 1 all, 2 skip';
comment on column schedule.overlap is '0 skip, 1 allow, 2 replace';

create table key (
    item        bigint not null,
    made_at     bigint not null,
    changed_at  bigint not null,
    revoked_at  bigint,
    shard       smallint not null,
    role        smallint not null,
    digest      bytea not null,
    id          text collate "C" not null,
    name        text collate "C" not null,
    collections text collate "C" not null,
    primary key (shard, id)
);
comment on table key is
    'Who may do what. The secret of a key is kept nowhere, only its SHA-256.';
comment on column key.id is 'The public part, by which a presented key is found.';
comment on column key.item is 'The item that carries the key''s own events.';
comment on column key.role is
    '0 submitter, 1 worker, 2 operator, 3 admin, 4 auditor';
comment on column key.collections is 'JSON array, only these; empty for all.';

create table item (
    id            bigint not null,
    collection    bigint not null,
    first_seen_at bigint not null,
    ordinal       bigint,
    changed_seq   bigint not null,
    kind          integer not null,
    priority      integer not null,
    shard         smallint not null,
    deleted       boolean not null,
    key           text collate "C" not null,
    types         text collate "C" not null,
    attributes    text collate "C" not null,
    primary key (shard, id)
) with (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.5,
        autovacuum_analyze_scale_factor = 0.5);
comment on column item.changed_seq is 'Number of the event that last changed its content.';
-- Collections, items and tasks have numbers of their own in the whole database, so that indexes
-- that begin with one need no shard.
create unique index item_key on item (collection, kind, key);
-- Robots are asked about every item of a collection, in order of number.
create index item_collection on item (collection, id);

create table event (
    item          bigint not null,
    n             bigint not null,
    at            bigint not null,
    task          bigint,
    token         bigint,
    name          integer not null,
    actor         integer not null,
    shard         smallint not null,
    "to"          smallint,
    outcome       smallint,
    hash          bytea not null,
    detail_digest bytea,
    detail        text collate "C",
    primary key (shard, item, n)
) with (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
comment on table event is 'History: what happened to an item, numbered from 1 without gaps.';
comment on column event."to" is 'The state the task went into.';
comment on column event.outcome is '0 success, 1 failure';
comment on column event.hash is 'SHA-256 over this event and the hash of the one before.';
comment on column event.detail is 'May be pruned, its digest stays.';

create table "commit" (
    n        bigint not null,
    at       bigint not null,
    shard    smallint not null,
    prev     bytea not null,
    seal     bytea not null,
    refs     bytea not null,
    counters bigint[] not null,
    primary key (shard, n)
) with (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
comment on table "commit" is 'One row per commit. The newest of a shard is its head.';
comment on column "commit".seal is 'SHA-256 over n, at, prev and the hashes of the events.';
comment on column "commit".refs is
    'The events it brought, in order, as pairs of varints: step of the item''s number, '
    'zigzag-coded, then n.';
comment on column "commit".counters is
    'Running numbers after it: collection, flow, version, queue, item, task, batch, hold, '
    'schedule, errand, turn, absent, epoch, clock.';

create table past (
    n     bigint not null,
    at    bigint not null,
    shard smallint not null,
    prev  bytea not null,
    seal  bytea not null,
    refs  bytea not null,
    primary key (shard, n)
);
comment on table past is
    'Commits of the archive this one was copied from, by its shards, as they were there.';

create table mark (
    item     bigint not null,
    n        bigint not null,
    based_on bigint not null,
    at       bigint not null,
    name     integer not null,
    shard    smallint not null,
    outcome  smallint not null,
    hidden   boolean not null,
    imported boolean not null,
    primary key (shard, item, name)
) with (fillfactor = 90, autovacuum_vacuum_insert_scale_factor = 0.5,
        autovacuum_analyze_scale_factor = 0.5);
comment on table mark is 'An item''s newest event of one name.';
comment on column mark.hidden is 'Rewound: invisible to triggers.';
comment on column mark.imported is
    'It came with an imported history, and never covers one of this place.';
-- Items by what happened to them and how it ended; the number of a name belongs to one shard.
create index mark_name on mark (name, outcome, item);

create table body (
    id          bigint not null,
    item        bigint not null,
    queue       bigint not null,
    flow        bigint not null,
    version     bigint not null,
    batch       bigint,
    created_at  bigint not null,
    round       bigint not null,
    depth       bigint not null,
    shard       smallint not null,
    solo        boolean not null,
    part        text collate "C" not null,
    payload     text collate "C" not null,
    fingerprint text collate "C" not null,
    primary key (shard, id)
) with (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
comment on table body is 'What never changes about a task.';
comment on column body.solo is 'The only task of its round.';
-- The round stands before the part, so that an item's newest round in a queue is found at once.
create unique index body_key on body (item, queue, round, part);
create index body_batch on body (batch, id) where batch is not null;

create table task (
    id         bigint not null,
    token      bigint not null,
    ord        bigint not null,
    ready_at   bigint not null,
    since      bigint not null,
    hold       bigint,
    cause_task bigint,
    priority   integer not null,
    attempts   integer not null,
    failures   integer not null,
    lapses     integer not null,
    blockers   integer not null,
    shard      smallint not null,
    state      smallint not null,
    spot       smallint not null,
    admitted   smallint not null,
    cause      smallint not null,
    stuck      smallint generated always as
               (case when state < 2 or state > 4 then state end) stored,
    lease      bytea,
    primary key (shard, id)
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.1,
        autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.5);
comment on table task is 'What changes about a task.';
comment on column task.spot is 'Where it waits: 0 nowhere, 1 queue, 2 line, 3 timer.';
comment on column task.cause is
    '0 none, 1 superseded, 2 trigger gone, 3 skipped, 4 operator, 5 permanent, 6 exhausted, 7 '
    'poison, 8 timeout, 9 transient, 10 not yet';
comment on column task.cause_task is 'By which task it was superseded.';
comment on column task.stuck is
    'The state, when somebody must look: waiting, held, failed, cancelled.';
-- Ready, leased and done tasks are left out, and the column does not change on the way from one of
-- these to the other: such an update touches no index.
create index task_stuck on task (shard, stuck, id) where stuck is not null;

create table round (
    item      bigint not null,
    flow      bigint not null,
    batch     bigint,
    round     bigint not null,
    waiting   integer not null,
    held      integer not null,
    ready     integer not null,
    leased    integer not null,
    done      integer not null,
    failed    integer not null,
    cancelled integer not null,
    blocking  integer not null,
    shard     smallint not null,
    primary key (shard, item, flow, round)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.1);
comment on table round is 'Rounds with more than one task: tasks per state.';

create table ready (
    queue  bigint not null,
    ord    bigint not null,
    task   bigint not null,
    behind integer not null,
    shard  smallint not null,
    primary key (shard, queue, behind, ord, task)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_vacuum_insert_scale_factor = 0.5);
comment on table ready is 'Ready tasks of a queue in their order.';
comment on column ready.behind is 'The priority, negated.';

create table line (
    ord    bigint not null,
    task   bigint not null,
    behind integer not null,
    shard  smallint not null,
    slots  text collate "C" not null,
    primary key (shard, slots, behind, ord, task)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
comment on table line is 'Tasks in the line of a limit that is used up.';

create table timer (
    at    bigint not null,
    task  bigint not null,
    shard smallint not null,
    primary key (shard, at, task)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);
comment on table timer is 'Ready tasks whose time has not come.';

create table instance (
    queue   bigint not null,
    ordinal bigint not null,
    task    bigint not null,
    shard   smallint not null,
    primary key (shard, queue, ordinal, task)
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table instance is 'Open tasks of items with an ordinal.';

create table newest (
    queue   bigint not null,
    ordinal bigint not null,
    task    bigint not null,
    shard   smallint not null,
    primary key (shard, queue)
) with (fillfactor = 50);
comment on table newest is 'The newest planned instance of a step on items with an ordinal.';

create table held (
    hold  bigint not null,
    task  bigint not null,
    shard smallint not null,
    primary key (shard, hold, task)
);
comment on table held is 'Tasks that met a hold.';

create table slots (
    max   bigint not null,
    used  bigint not null,
    shard smallint not null,
    key   text collate "C" not null,
    primary key (shard, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
comment on table slots is 'Slots of limits.';

create table edge (
    target  bigint not null,
    task    bigint not null,
    shard   smallint not null,
    absent  smallint not null,
    settled boolean not null,
    "inner" boolean not null,
    address text collate "C" not null,
    primary key (shard, absent, target, address, task)
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table edge is
    'Unsatisfied dependencies: task waits for a task (absent 0, target) or for one that does '
    'not exist yet (absent 1, address).';
comment on column edge.settled is 'Any end satisfies it; otherwise only done or skipped.';
comment on column edge."inner" is 'Both ends are of one round or revision.';
create index edge_task on edge (shard, task, absent, target, address);

create table lease (
    ttl        bigint not null,
    granted_at bigint not null,
    expires_at bigint not null,
    due_at     bigint not null,
    worker     integer not null,
    actor      integer not null,
    shard      smallint not null,
    id         bytea not null,
    grips      text collate "C" not null,
    primary key (shard, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);
comment on column lease.due_at is 'When something is due next: expiry, deadline, silence.';
comment on column lease.grips is
    'JSON array of [task, token, basis, stopping, deadline, silent_at].';
create index lease_due on lease (shard, due_at, id);

create table batch (
    id         bigint not null,
    collection bigint not null,
    item       bigint not null,
    shard      smallint not null,
    primary key (shard, id)
);
comment on table batch is 'Batches; where they stand is in tally.';
comment on column batch.item is 'The item that carries the batch''s own events.';

create table member (
    batch bigint not null,
    n     bigint not null,
    item  bigint not null,
    flow  bigint not null,
    solo  bigint,
    round bigint not null,
    shard smallint not null,
    primary key (shard, batch, n)
);
comment on column member.solo is 'Its task, if the round has only one.';

create table errand (
    id      bigint not null,
    subject bigint not null,
    cursor  bigint not null,
    since   bigint not null,
    amount  integer not null,
    actor   integer not null,
    shard   smallint not null,
    follow  smallint not null,
    address text collate "C" not null,
    primary key (shard, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table errand is 'Durable follow-up of a fact that was too large for its commit.';
comment on column errand.follow is
    '0 settled, 1 bind, 2 supersede, 3 wake, 4 fill, 5 release, 6 report, 7 cancel batch, 8 '
    'delete batch, 9 retry batch, 10 delete item, 11 reprioritise';
comment on column errand.subject is 'The number of the task, item, flow, hold or batch.';

create table destination (
    next   bigint not null,
    due_at bigint,
    tries  bigint not null,
    shard  smallint not null,
    key    text collate "C" not null,
    primary key (shard, key)
) with (fillfactor = 70);
comment on column destination.next is 'Number of the next letter.';
create index destination_due on destination (shard, due_at, key) where due_at is not null;

create table letter (
    n           bigint not null,
    at          bigint not null,
    shard       smallint not null,
    destination text collate "C" not null,
    body        text collate "C" not null,
    primary key (shard, destination, n)
) with (autovacuum_vacuum_scale_factor = 0.05);

create table idem (
    subject bigint not null,
    flow    bigint,
    n       bigint,
    task    bigint,
    shard   smallint not null,
    made    smallint not null,
    digest  bytea not null,
    key     text collate "C" not null,
    primary key (shard, key)
) with (autovacuum_vacuum_insert_scale_factor = 0.5);
comment on table idem is 'Idempotency keys and what they made.';
comment on column idem.made is '0 round, 1 event, 2 batch, 3 item, 4 hold';
comment on column idem.digest is 'SHA-256 of the request.';

create table manifest (
    task  bigint not null,
    token bigint not null,
    at    bigint not null,
    shard smallint not null,
    state smallint not null,
    text  text collate "C" not null,
    primary key (shard, task, token)
);
comment on column manifest.state is '0 complete, 1 partial, 2 empty, 3 removed';

-- For people.

create view items as
select item.id, item.shard, collection.name as collection, word.text as kind, item.key,
       item.priority, to_timestamp(item.first_seen_at / 1e6) as first_seen_at, item.ordinal,
       item.types, item.attributes, item.changed_seq, item.deleted
from item
join collection on collection.shard = item.shard and collection.id = item.collection
join word on word.shard = item.shard and word.id = item.kind;

create view tasks as
select task.id, task.shard, flow.name as flow, queue.step, body.item, body.part, body.round,
       (array['waiting', 'held', 'ready', 'leased', 'done', 'failed', 'cancelled'])[task.state + 1]
           as state,
       task.token, task.attempts, task.priority, task.blockers, encode(task.lease, 'hex') as lease,
       to_timestamp(task.since / 1e6) as since, body.batch, body.payload
from task
join body on body.shard = task.shard and body.id = task.id
join queue on queue.shard = body.shard and queue.id = body.queue
join flow on flow.shard = body.shard and flow.id = body.flow;

create view events as
select event.item, event.n, event.shard, name.text as name, to_timestamp(event.at / 1e6) as at,
       actor.text as actor, event.task,
       (array['waiting', 'held', 'ready', 'leased', 'done', 'failed', 'cancelled'])[event."to" + 1]
           as "to",
       event.token, (array['success', 'failure'])[event.outcome + 1] as outcome, event.detail,
       encode(event.hash, 'hex') as hash
from event
join word as name on name.shard = event.shard and name.id = event.name
join word as actor on actor.shard = event.shard and actor.id = event.actor;
