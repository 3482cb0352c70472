-- Calendars of others: how they are reached, what was read of them, and the bookings that were written into them.

-- Accounts at calendar servers, and addresses of calendar files.
create table calendar_connections (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    kind text not null check (kind in ('caldav', 'ics')),
    server text not null,
    label text not null,
    -- When its list of calendars was last read.
    listed_at timestamptz,
    -- Sealed: URL, user name and password.
    secret bytea not null,
    addresses text[] not null default '{}',
    -- How long what was last read is trusted when it can't be read any more; null: not at all.
    trust_hours integer check (trust_hours between 1 and 8760),
    synced_at timestamptz,
    tried_at timestamptz,
    next_sync_at timestamptz not null,
    failures integer not null default 0,
    failing_since timestamptz,
    told_at timestamptz,
    last_error text,
    -- Who is reading it, and until when nobody else does.
    lease uuid,
    leased_until timestamptz,
    created_at timestamptz not null
);
create index calendar_connections_owner on calendar_connections (owner_id, created_at);
create index calendar_connections_due on calendar_connections (next_sync_at);

-- The calendars of a connection; one calendar of a user receives bookings.
create table calendars (
    id uuid primary key,
    connection_id uuid not null references calendar_connections on delete cascade,
    owner_id uuid not null references users on delete cascade,
    url text not null,
    name text not null,
    can_write boolean not null,
    is_busy boolean not null,
    receives boolean not null default false,
    state text,
    expanded_at timestamptz,
    unread_events integer not null default 0,
    unique (connection_id, url)
);
create index calendars_owner on calendars (owner_id);
create unique index calendars_receiving on calendars (owner_id) where receives;

-- What was read of each event, without title, notes and guests: enough to say again when it repeats.
create table calendar_objects (
    calendar_id uuid not null references calendars on delete cascade,
    href text not null,
    etag text not null,
    uid text not null,
    repeats boolean not null,
    is_unread boolean not null,
    text text,
    primary key (calendar_id, href)
);
create index calendar_objects_repeating on calendar_objects (calendar_id) where repeats;
create index calendar_objects_uid on calendar_objects (uid);

-- Bookings as they were last written into a calendar.
create table calendar_events (
    booking_id uuid not null references bookings on delete cascade,
    calendar_id uuid not null references calendars on delete cascade,
    href text not null,
    etag text not null,
    sequence integer not null,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    -- Since when the host's calendar has no such event, and nobody has said what that means.
    missing_since timestamptz,
    -- The start that the host has moved it to and that could not be booked.
    refused_start timestamptz,
    primary key (booking_id, calendar_id)
);
create unique index calendar_events_place on calendar_events (calendar_id, href);
create index calendar_events_missing on calendar_events (calendar_id) where missing_since is not null;

-- Secret links to a user's own bookings as a calendar; only the hash is kept.
create table calendar_feeds (
    user_id uuid primary key references users on delete cascade,
    token_hash bytea not null unique,
    created_at timestamptz not null
);
