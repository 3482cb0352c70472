-- Calendars and CRMs of others: how they are reached, what was read of them, and the bookings that were written into them.

create table oauth_attempts (
    state_hash bytea primary key,
    user_id uuid not null references users on delete cascade,
    session_id uuid not null,
    vendor text not null,
    -- Encrypted; proves to the vendor that the code comes back to whoever has asked for it.
    verifier bytea not null,
    -- The connection whose consent has ended.
    renews uuid,
    expires_at timestamptz not null
);
comment on table oauth_attempts is
    'A consent that a session has begun; the vendor sends the state back, of which only the hash is kept.';
create index oauth_attempts_user on oauth_attempts (user_id);
create index oauth_attempts_expired on oauth_attempts (expires_at);

create table oauth_grants (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    vendor text not null,
    -- Sealed: access and refresh token.
    secret bytea not null,
    scopes text[] not null,
    state text not null check (state in ('ok', 'needs_consent')),
    expires_at timestamptz not null,
    -- Who is asking the vendor for new tokens, and until when nobody else does.
    refresher uuid,
    refreshing_until timestamptz,
    created_at timestamptz not null
);
comment on table oauth_grants is 'What the owner of a connection has allowed; the id is the connection''s.';
create index oauth_grants_owner on oauth_grants (owner_id);

create table calendar_connections (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    kind text not null check (kind in ('caldav', 'ics', 'google', 'microsoft')),
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
    created_at timestamptz not null,
    -- Whether the calendar's server invites those who take part in a booking; then Openslot's own mails have no
    -- invitation.
    invites boolean not null default false
);
comment on table calendar_connections is 'Accounts at calendar servers, and addresses of calendar files.';
create index calendar_connections_owner on calendar_connections (owner_id, created_at);
create index calendar_connections_due on calendar_connections (next_sync_at);

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
comment on table calendars is 'The calendars of a connection; one calendar of a user receives bookings.';
create index calendars_owner on calendars (owner_id);
create unique index calendars_receiving on calendars (owner_id) where receives;

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
comment on table calendar_objects is
    'What was read of each event, without title, notes and guests: enough to say again when it repeats.';
create index calendar_objects_repeating on calendar_objects (calendar_id) where repeats;
create index calendar_objects_uid on calendar_objects (uid);

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
comment on table calendar_events is 'Bookings as they were last written into a calendar.';
create unique index calendar_events_place on calendar_events (calendar_id, href);
create index calendar_events_missing on calendar_events (calendar_id) where missing_since is not null;

create table calendar_feeds (
    user_id uuid primary key references users on delete cascade,
    token_hash bytea not null unique,
    created_at timestamptz not null
);
comment on table calendar_feeds is 'Secret links to a user''s own bookings as a calendar; only the hash is kept.';

create table calendar_channels (
    -- Also the last part of the address that the notices are sent to.
    id uuid primary key,
    connection_id uuid not null references calendar_connections on delete cascade,
    calendar_id uuid not null references calendars on delete cascade,
    -- Each notice has the token; only its hash is kept.
    token_hash bytea not null,
    -- The server's own name of what is watched; empty until it has answered.
    resource_id text not null default '',
    expires_at timestamptz not null,
    -- The number of the last notice, and when it came.
    message_no bigint not null default 0,
    noticed_at timestamptz,
    created_at timestamptz not null,
    -- When it is prolonged, or another one takes its place: a server may ask for it before the end is near.
    renew_at timestamptz not null
);
comment on table calendar_channels is
    'Where a calendar''s server sends a notice when something has changed, so that it is read earlier.';
create index calendar_channels_connection on calendar_channels (connection_id);
create index calendar_channels_calendar on calendar_channels (calendar_id);

create table calendar_invitations (
    booking_id uuid primary key references bookings on delete cascade,
    -- Null: it is gone.
    calendar_id uuid references calendars on delete set null,
    -- By when the calendar has to have invited to the booking as it is; null: it has.
    due_at timestamptz,
    -- How new the booking was when the calendar had not invited in time: Openslot invites to it from there on.
    left_at timestamptz
);
comment on table calendar_invitations is
    'One row for each booking that a calendar invites to, so that Openslot''s own mails have no invitation; for '
    'all others, Openslot invites.';
create index calendar_invitations_calendar on calendar_invitations (calendar_id);
create index calendar_invitations_due on calendar_invitations (due_at) where due_at is not null;

create table crm_connections (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    -- The name of the adapter.
    vendor text not null,
    -- The vendor's own id of the account, or its address.
    account text not null,
    -- What the owner knows it by.
    label text not null,
    -- Sealed.
    secret bytea not null,
    -- What the owner has chosen for this vendor.
    options jsonb not null default '{}',
    connected_at timestamptz not null,
    -- When it was last used without a fault.
    used_at timestamptz,
    -- Why it could not be used the last time.
    last_error text,
    failing_since timestamptz,
    -- Whether the secret was refused: nothing is sent until the owner connects it again, or a test succeeds.
    is_refused boolean not null default false,
    -- When the owner was told of it.
    told_at timestamptz,
    constraint crm_connections_account unique (owner_id, vendor, account)
);
comment on table crm_connections is 'CRMs that hosts have connected.';

create table crm_meetings (
    booking_id uuid not null references bookings on delete cascade,
    connection_id uuid not null references crm_connections on delete cascade,
    -- The CRM's id of the meeting.
    meeting_id text not null,
    primary key (booking_id, connection_id)
);
comment on table crm_meetings is 'Which meeting of a CRM is which booking.';
create index crm_meetings_connection on crm_meetings (connection_id);
