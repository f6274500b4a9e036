-- What tasks write, beside the shards: no command reads it, and no shard's lock is needed for it.
-- Rows are added, and those in the middle of a large output are removed; none is ever changed.
create table output (
    task    bigint not null,
    token   bigint not null,
    first   bigint not null,
    length  integer not null,
    attempt integer not null,
    lease   bytea not null,
    packed  bytea not null,
    primary key (task, token, first)
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
-- It is compressed already.
alter table output alter column packed set storage external;
comment on table output is
    'Chunks of what tasks wrote. The numbers of tasks carry their shard in the upper 16 bits.';
comment on column output.token is 'The fencing number of the grant under which it was written.';
comment on column output.first is 'Offset of the first byte in the output of that grant.';
comment on column output.length is 'Bytes, unpacked.';
comment on column output.lease is 'The lease that sent it, 16 bytes.';
comment on column output.packed is 'The bytes as a frame of zstd with its checksum.';
