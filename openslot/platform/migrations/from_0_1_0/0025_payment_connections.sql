-- Accounts of a payment provider that hosts and organizations have connected, and what the provider has told of them.

-- A connection to an account of a payment provider: of a user, or of an organization for its members. One that was
-- disconnected stays for the payments that it took, without its key.
create table payment_connections (
    id uuid primary key,
    user_id uuid references users on delete cascade,
    organization_id uuid references organizations on delete cascade,
    mode text not null check (mode in ('test', 'live')),
    -- Sealed; null: disconnected.
    key bytea,
    -- What the key ends with, so that people can tell it from others.
    key_ending text not null,
    -- Sealed; what the provider signs its notices with. Null: there is no endpoint, and the provider is only read.
    notice_secret bytea,
    -- The endpoint that we have registered; null: none, or one that somebody has registered by hand.
    endpoint_id text,
    -- Null: the key may not read it.
    account_id text,
    account_name text,
    -- Up to when the provider's list of what happened was read.
    read_until timestamptz not null,
    last_read_at timestamptz,
    -- Why it could not be read the last time.
    last_error text,
    failing_since timestamptz,
    -- When the owner was told of it.
    told_at timestamptz,
    connected_at timestamptz not null,
    disconnected_at timestamptz,
    check (num_nonnulls(user_id, organization_id) = 1),
    check ((key is null) = (disconnected_at is not null))
);
create unique index payment_connections_user on payment_connections (user_id) where disconnected_at is null;
create unique index payment_connections_organization on payment_connections (organization_id)
    where disconnected_at is null;
-- For those whose account or organization is deleted.
create index payment_connections_any_user on payment_connections (user_id);
create index payment_connections_any_organization on payment_connections (organization_id);

-- What the provider has told, each once, until it was looked at: which payment is to be read anew.
create table payment_notices (
    connection_id uuid not null references payment_connections on delete cascade,
    id text not null,
    type text not null,
    -- When it happened, by the provider's clock.
    created_at timestamptz not null,
    session_id text,
    intent_id text,
    reference text,
    received_at timestamptz not null,
    done_at timestamptz,
    primary key (connection_id, id)
);
create index payment_notices_waiting on payment_notices (received_at) where done_at is null;
create index payment_notices_age on payment_notices (received_at) where done_at is not null;
