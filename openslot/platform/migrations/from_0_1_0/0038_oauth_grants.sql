-- Access to accounts at other services: consents under way, and what was granted.

-- A consent that a session has begun; the vendor sends the state back, of which only the hash is kept.
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
create index oauth_attempts_user on oauth_attempts (user_id);
create index oauth_attempts_expired on oauth_attempts (expires_at);

-- What the owner of a connection has allowed; the id is the connection's.
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
create index oauth_grants_owner on oauth_grants (owner_id);

alter table calendar_connections drop constraint calendar_connections_kind_check;
alter table calendar_connections add constraint calendar_connections_kind_check
    check (kind in ('caldav', 'ics', 'google', 'microsoft')) not valid;
alter table calendar_connections validate constraint calendar_connections_kind_check;
