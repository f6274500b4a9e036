-- 1: the mark came with an imported history, and never covers one of this place.
alter table mark add column imported integer not null default 0;

-- Items by what happened to them and how it ended, for those who look for items: which ones failed?
-- It is touched once per mark, next to the entries of the same event, so that it grows at one place
-- for each event name.
create index mark_name on mark (name, outcome, item);
