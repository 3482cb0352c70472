-- When hosts work.

create table schedules (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    name text not null,
    zone text not null,
    weekly_hours jsonb not null,
    overrides jsonb not null,
    holidays jsonb,
    -- The schedule that was made the default last is the default, from which new event types start; where none was, the
    -- oldest is.
    default_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
comment on table schedules is 'Weekly hours with their exceptions.';
create index schedules_owner on schedules (owner_id);

create table out_of_office (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    reason text not null,
    created_at timestamptz not null,
    check (starts_at < ends_at)
);
comment on table out_of_office is 'When a host is away from every schedule at once.';
create index out_of_office_owner on out_of_office (owner_id, ends_at);
