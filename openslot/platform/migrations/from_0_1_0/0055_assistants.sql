-- Assistants that people have connected by OAuth: the programs, what each was allowed, and hashes of what was issued.

-- Programs that may ask for a connection: a copy of the document at their address, or what they have registered.
create table assistant_clients (
    -- The address of the document, or what we gave it when it registered.
    id text primary key,
    origin text not null check (origin in ('document', 'registered')),
    name text not null,
    redirect_uris text[] not null,
    created_at timestamptz not null,
    -- A document is read again then; a registration is forgotten, unless somebody has connected the program.
    expires_at timestamptz not null
);
create index assistant_clients_expiry on assistant_clients (expires_at);

-- What a user has allowed a program; the access token is replaced each time it is refreshed.
create table assistant_grants (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    client_id text not null,
    client_name text not null,
    -- Where the user was sent back to.
    site text not null,
    scopes text[] not null,
    resource text not null,
    hash bytea not null unique,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    -- When nothing that was issued can be used any more.
    ends_at timestamptz not null,
    revoked_at timestamptz,
    last_used_at timestamptz
);
create index assistant_grants_user on assistant_grants (user_id);
create index assistant_grants_client on assistant_grants (client_id);
create index assistant_grants_end on assistant_grants (ends_at);

-- Codes that a program exchanges for tokens, once; a used one is kept, because its second use ends the connection.
create table assistant_codes (
    id uuid primary key,
    hash bytea not null unique,
    user_id uuid not null references users on delete cascade,
    client_id text not null,
    client_name text not null,
    redirect_uri text not null,
    site text not null,
    scopes text[] not null,
    resource text not null,
    challenge text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    grant_id uuid
);
create index assistant_codes_user on assistant_codes (user_id);
create index assistant_codes_expiry on assistant_codes (expires_at);

-- Tokens by which a connection gets its next access token, each once; a second use ends the connection.
create table assistant_refresh_tokens (
    id uuid primary key,
    hash bytea not null unique,
    grant_id uuid not null references assistant_grants on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz
);
create index assistant_refresh_tokens_grant on assistant_refresh_tokens (grant_id);
create index assistant_refresh_tokens_expiry on assistant_refresh_tokens (expires_at);

alter table organization_settings add column assistants text not null default 'allowed'
    check (assistants in ('allowed', 'read', 'forbidden'));
