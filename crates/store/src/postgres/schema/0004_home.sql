-- Tables that were made anew hold what was once dumped, which may be older than what was
-- acknowledged since.
alter table shard add column home bigint not null default 0;
comment on column shard.home is
    'The number of this table (its tableoid) when the shard was last written: another one after a '
    'dump was brought back. 0 where it was not noted yet.';
