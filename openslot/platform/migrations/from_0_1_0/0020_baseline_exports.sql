-- Exports of all data of a user.

-- Exports that were asked for.
create table data_exports (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    state text not null check (state in ('queued', 'running', 'ready', 'failed')),
    -- Which attempt writes it; an older one can't write any more.
    attempt uuid,
    files_done integer not null default 0,
    files integer not null,
    size bigint not null default 0,
    requested_at timestamptz not null,
    finished_at timestamptz,
    expires_at timestamptz not null
);
create index data_exports_user on data_exports (user_id, requested_at desc);
create unique index data_exports_one on data_exports (user_id) where state in ('queued', 'running');
create index data_exports_expiry on data_exports (expires_at);

-- The file in pieces, each sealed, so that every web process can send it.
create table data_export_pieces (
    export_id uuid not null references data_exports on delete cascade,
    no integer not null,
    sealed bytea not null,
    primary key (export_id, no)
);
-- What is sealed can't be packed.
alter table data_export_pieces alter column sealed set storage external;
