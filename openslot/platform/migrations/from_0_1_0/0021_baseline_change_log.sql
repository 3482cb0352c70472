-- What administrators have changed.

-- Who changed what, when, from which address, and the changed fields before and after.
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
create index change_log_organization on change_log (organization_id, id) where organization_id is not null;
create index change_log_platform on change_log (id) where scope = 'platform';
create index change_log_age on change_log (at);
