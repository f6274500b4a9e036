-- Repositories that are watched, and how far their revisions are planned.
create table archive (
    collection     bigint not null,
    first          bigint not null,
    youngest       bigint not null,
    noticed        bigint not null,
    planned        bigint not null,
    awaiting_since bigint not null,
    since          bigint not null,
    shard          smallint not null,
    kind           smallint not null,
    state          smallint not null,
    trusted        boolean not null,
    place          text collate "C" not null,
    branch         text collate "C" not null,
    identity       text collate "C" not null,
    planned_id     text collate "C" not null,
    reason         text collate "C" not null,
    barrier        text collate "C" not null,
    flows          text collate "C" not null,
    primary key (shard, collection)
);
comment on column archive.kind is '0 svn, 1 git';
comment on column archive.state is '0 watched, 1 unreachable, 2 stopped, 3 removed';
comment on column archive.barrier is 'exclusive tasks of the planned revision, JSON array';
