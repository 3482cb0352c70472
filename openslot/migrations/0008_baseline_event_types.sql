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
    private_token text,
    private_hash bytea,
    private_sealed bytea,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint event_types_slug unique (owner_id, slug)
);
create index event_types_schedule on event_types (schedule_id);
create index event_types_order on event_types (owner_id, position, id);
create index event_types_in_clear on event_types (id) where private_token <> E'kept as a hash only\n';

create function hash_private_token() returns trigger language plpgsql as $$
declare
    hash bytea := sha256(convert_to(new.private_token, 'UTF8'));
begin
    if new.private_token is null then
        new.private_hash := null;
        new.private_sealed := null;
    elsif new.private_token <> E'kept as a hash only\n' and new.private_hash is distinct from hash then
        new.private_hash := hash;
        new.private_sealed := null;
    end if;
    return new;
end $$;
create trigger event_types_private before insert or update of private_token on event_types
    for each row execute function hash_private_token();
