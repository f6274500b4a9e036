-- Repositories that are watched, and how far their revisions are planned. One row per collection
-- that is an archive; its revisions are items of kind `revision`.
create table archive (
    collection     integer primary key,
    kind           integer not null,    -- 0 svn, 1 git
    place          text not null,       -- a path or a URL
    branch         text not null,       -- the branch that is counted along, '' where there is none
    first          integer not null,    -- the first revision that is planned
    trusted        integer not null,    -- its definitions may run
    identity       text not null,       -- what tells the repository from another one; '' = not seen
    youngest       integer not null,    -- the youngest revision anybody has seen
    noticed        integer not null,    -- the youngest revision a notice spoke of
    planned        integer not null,    -- revisions up to this one are planned
    planned_id     text not null,       -- what the repository calls that revision
    awaiting_since integer not null,    -- since when the next one is awaited, 0 when none is
    state          integer not null,    -- 0 watched, 1 unreachable, 2 stopped, 3 removed
    reason         text not null,       -- why it is in that state
    since          integer not null,    -- since when
    barrier        text not null,       -- exclusive tasks of the planned revision, as numbers
    flows          text not null        -- flows of its definitions, as numbers
) strict;
