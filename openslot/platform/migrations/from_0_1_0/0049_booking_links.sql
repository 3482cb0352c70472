-- Links through which an event type can be booked a number of times.

-- What a host gives to somebody. The token in the address opens the event type, a private one too.
create table booking_links (
    id uuid primary key,
    event_type_id uuid not null references event_types on delete cascade,
    owner_id uuid not null references users on delete cascade,
    -- What the host notes for themselves; nobody else reads it.
    note text,
    uses integer not null check (uses > 0),
    -- How many of them are taken.
    used integer not null default 0,
    -- Until when it can be used; null: it does not end.
    ends_at timestamptz,
    revoked_at timestamptz,
    created_at timestamptz not null,
    -- Of the token: its hash, and itself, sealed, because hosts copy the address again.
    token_hash bytea not null unique,
    token_sealed bytea not null,
    check (used between 0 and uses)
);
create index booking_links_event_type on booking_links (event_type_id, id desc);
create index booking_links_owner on booking_links (owner_id);

-- Which bookings were made through a link. One that ended before it was a booking has given its use back.
create table booking_link_uses (
    booking_id uuid primary key references bookings on delete cascade,
    link_id uuid not null references booking_links on delete cascade,
    active boolean not null default true
);
create index booking_link_uses_link on booking_link_uses (link_id);
