-- Where a calendar's server sends a notice when something has changed, so that it is read earlier.

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
    created_at timestamptz not null
);
create index calendar_channels_connection on calendar_channels (connection_id);
create index calendar_channels_calendar on calendar_channels (calendar_id);
