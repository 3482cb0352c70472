-- When hosts work, and what can be booked.

create table schedules (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    name text not null,
    zone text not null,
    weekly_hours jsonb not null,
    overrides jsonb not null,
    holidays jsonb,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index schedules_owner on schedules (owner_id);

-- A host is away from every schedule at once.
create table out_of_office (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    reason text not null,
    created_at timestamptz not null,
    check (starts_at < ends_at)
);
create index out_of_office_owner on out_of_office (owner_id, ends_at);

create table event_types (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    schedule_id uuid not null references schedules,
    name text not null,
    slug text not null,
    description text not null,
    colour text not null,
    duration_minutes integer not null check (duration_minutes > 0),
    buffer_before integer not null check (buffer_before between 0 and 480),
    buffer_after integer not null check (buffer_after between 0 and 480),
    location jsonb not null,
    min_notice_minutes integer not null,
    booking_window jsonb not null,
    slot_interval_minutes integer,
    limit_per_day integer,
    limit_per_week integer,
    seats integer not null check (seats > 0),
    questions jsonb not null,
    price jsonb,
    position integer not null,
    active boolean not null,
    private_token text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint event_types_slug unique (owner_id, slug)
);
create index event_types_schedule on event_types (schedule_id);
create index event_types_order on event_types (owner_id, position, id);
