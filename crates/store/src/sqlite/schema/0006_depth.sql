-- Revisions made by tasks that may stand behind one another before nothing more is run.
alter table archive add column depth_max integer not null default 8;
