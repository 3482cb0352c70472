-- What can be booked.

-- Kinds of meetings that a host offers.
create table event_types (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    schedule_id uuid not null references schedules,
    name text not null,
    slug text not null,
    description text not null,
    color text not null,
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
    -- Of the token that opens an event type that is not listed: its hash, and itself, sealed; null: it is listed.
    private_hash bytea,
    private_sealed bytea,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint event_types_slug unique (owner_id, slug)
);
create index event_types_schedule on event_types (schedule_id);
create index event_types_order on event_types (owner_id, position, id);
