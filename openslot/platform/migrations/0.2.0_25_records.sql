-- Exports of all data of a user, and what administrators have changed.

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
comment on table data_exports is 'Exports that were asked for.';
create index data_exports_user on data_exports (user_id, requested_at desc);
create unique index data_exports_one on data_exports (user_id) where state in ('queued', 'running');
create index data_exports_expiry on data_exports (expires_at);

create table data_export_pieces (
    export_id uuid not null references data_exports on delete cascade,
    no integer not null,
    sealed bytea not null,
    primary key (export_id, no)
);
comment on table data_export_pieces is
    'The file of an export in pieces, each sealed, so that every web process can send it.';
-- What is sealed can't be packed.
alter table data_export_pieces alter column sealed set storage external;

create table change_log (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    scope text not null check (scope in ('organization', 'platform')),
    organization_id uuid references organizations on delete cascade,
    action text not null,
    -- Names as they were: the log outlives accounts.
    actor_kind text not null,
    actor_id uuid,
    actor_name text not null,
    actor_email text,
    address text,
    subject text not null,
    subject_id uuid,
    before json not null,
    after json not null,
    check (scope = 'platform' or organization_id is not null)
);
comment on table change_log is 'Who changed what, when, from which address, and the changed fields before and after.';
create index change_log_organization on change_log (organization_id, id) where organization_id is not null;
create index change_log_platform on change_log (id) where scope = 'platform';
create index change_log_age on change_log (at);
