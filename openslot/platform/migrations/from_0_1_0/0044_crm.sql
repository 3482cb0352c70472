-- CRMs that hosts have connected, and which meeting of a CRM is which booking.

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
    -- Until when the CRM has asked us to wait.
    busy_until timestamptz,
    constraint crm_connections_account unique (owner_id, vendor, account)
);

create table crm_meetings (
    booking_id uuid not null references bookings on delete cascade,
    connection_id uuid not null references crm_connections on delete cascade,
    -- The CRM's id of the meeting.
    meeting_id text not null,
    primary key (booking_id, connection_id)
);
create index crm_meetings_connection on crm_meetings (connection_id);
