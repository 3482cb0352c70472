-- What can be booked, and how somebody gets to it.

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
    -- What becomes of the money if the invitee cancels: full, none, or until:24 for up to 24 hours before the start.
    refund_policy text not null default 'full',
    -- Whether invitees ask for a time, and the host confirms it.
    requires_confirmation boolean not null default false,
    -- In minutes and in order, with duration_minutes, the default, among them; empty: there is only the default.
    durations integer[] not null default '{}',
    -- Where invitees are sent when they have booked; null: to the page of their booking.
    redirect_url text,
    -- How many upcoming bookings of an event type one email address can have; null: as many as it wants.
    limit_per_invitee integer,
    -- For how many weeks invitees can book at once; null: one booking at a time.
    recurring_weeks integer,
    -- With location, the default, among them; empty: there is only the default.
    locations jsonb not null default '[]',
    -- For how many minutes a free time is kept for somebody who waits; null: the event type has no wait list.
    wait_list_minutes integer,
    -- The team of an event type; null: its owner hosts it alone. Its owner need not host it.
    team_id uuid references teams on delete set null,
    -- Whether invitees enter a code that is sent to their address before they can book.
    requires_email_verification boolean not null default false,
    -- The account that invitees pay to, named by each event type that has a price: joining or leaving an organization does
    -- not change it. One that was disconnected, or whose organization the owner has left, is not paid to; it is no foreign
    -- key, because one that was deleted stays named until the owner chooses another one.
    payment_connection_id uuid,
    constraint event_types_slug unique (owner_id, slug)
);
comment on table event_types is 'Kinds of meetings that a host or a team offers.';
create index event_types_schedule on event_types (schedule_id);
create index event_types_order on event_types (owner_id, position, id);
create unique index event_types_team on event_types (team_id, slug) where team_id is not null;

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
comment on table booking_links is
    'Links through which an event type can be booked a number of times; a host gives them to somebody. The token '
    'in the address opens the event type, a private one too.';
create index booking_links_event_type on booking_links (event_type_id, id desc);
create index booking_links_owner on booking_links (owner_id);

create table email_codes (
    id uuid primary key,
    event_type_id uuid not null references event_types on delete cascade,
    email text not null,
    -- The language of the mail; null: the host's.
    locale text,
    -- Signed with the installation's key; the code itself is stored nowhere.
    hash bytea not null,
    wrong_tries integer not null default 0,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    -- Names the network that asked for the code, signed with the installation's key; null: an earlier release has sent
    -- it.
    asked_by bytea,
    -- Of everybody but this network; `wrong_tries` are its own.
    wrong_tries_of_others integer not null default 0
);
comment on table email_codes is 'Codes by mail with which invitees prove their address before they book.';
create index email_codes_type on email_codes (event_type_id, lower(email));
create index email_codes_canonical on email_codes (canonical_recipient(email), created_at);
create index email_codes_expiry on email_codes (expires_at);
