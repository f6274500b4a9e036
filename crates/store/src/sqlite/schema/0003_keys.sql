-- Who may do what. The secret of a key is kept nowhere, only its digest.
create table key (
    id          text primary key,       -- the public part, by which a presented key is found
    item        integer not null,       -- the item that carries the key's own events
    name        text not null,          -- who it is for: the actor in every event it causes
    role        integer not null,       -- 0 submitter, 1 worker, 2 operator, 3 admin, 4 auditor
    collections text not null,          -- JSON array, only these; '' for all
    digest      blob not null,          -- SHA-256 of the secret
    made_at     integer not null,
    changed_at  integer not null,
    revoked_at  integer                 -- from then on it opens nothing
) strict, without rowid;
