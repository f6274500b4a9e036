alter table archive add column depth_max bigint not null default 8;
comment on column archive.depth_max is
    'Revisions made by tasks that may stand behind one another before nothing more is run.';
