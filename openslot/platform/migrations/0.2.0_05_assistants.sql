-- Assistants that people have connected by OAuth: the programs, what each was allowed, and what they have called.

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
comment on table assistant_clients is
    'Programs that may ask for a connection: a copy of the document at their address, or what they have '
    'registered.';
create index assistant_clients_expiry on assistant_clients (expires_at);

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
    last_used_at timestamptz,
    -- Which calls of an assistant wait for the user: none, those that change or delete something, or all that write.
    asks_first text not null default 'never'
        check (asks_first in ('never', 'destructive', 'writes'))
);
comment on table assistant_grants is
    'What a user has allowed a program; the access token is replaced each time it is refreshed.';
create index assistant_grants_user on assistant_grants (user_id);
create index assistant_grants_client on assistant_grants (client_id);
create index assistant_grants_end on assistant_grants (ends_at);

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
comment on table assistant_codes is
    'Codes that a program exchanges for tokens, once; a used one is kept, because its second use ends the '
    'connection.';
create index assistant_codes_user on assistant_codes (user_id);
create index assistant_codes_expiry on assistant_codes (expires_at);

create table assistant_refresh_tokens (
    id uuid primary key,
    hash bytea not null unique,
    grant_id uuid not null references assistant_grants on delete cascade,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz
);
comment on table assistant_refresh_tokens is
    'Tokens by which a connection gets its next access token, each once; a second use ends the connection.';
create index assistant_refresh_tokens_grant on assistant_refresh_tokens (grant_id);
create index assistant_refresh_tokens_expiry on assistant_refresh_tokens (expires_at);

create table assistant_calls (
    no bigint generated always as identity primary key,
    user_id uuid not null references users on delete cascade,
    -- The connection, or the API key of a program on the same machine; it may be gone.
    grant_id uuid not null,
    client_name text not null,
    at timestamptz not null,
    tool text not null,
    outcome text not null check (outcome in ('ok', 'refused', 'waiting', 'failed')),
    -- Why it was refused.
    code text,
    -- Names of the arguments, and the values of those that are ids, times and settings.
    summary text not null
);
comment on table assistant_calls is
    'Every call of a tool, carried out or refused, as its user reads it; without texts and addresses of people.';
create index assistant_calls_user on assistant_calls (user_id, no);
create index assistant_calls_age on assistant_calls (at);

create table assistant_approvals (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    grant_id uuid not null references assistant_grants on delete cascade,
    client_name text not null,
    tool text not null,
    arguments_hash text not null,
    -- Sealed, until it is decided or has expired.
    arguments bytea,
    status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'expired')),
    -- Why the user has declined it; the assistant is told.
    reason text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    decided_at timestamptz,
    -- What the tool answered, sealed, until the assistant fetches it.
    result bytea,
    is_error boolean,
    -- When the assistant was told what became of it.
    told_at timestamptz,
    check ((status = 'pending') = (decided_at is null)),
    check (status = 'pending' or arguments is null)
);
comment on table assistant_approvals is 'Calls that wait for the user''s approval, or were decided.';
create index assistant_approvals_call on assistant_approvals (grant_id, tool, arguments_hash);
create index assistant_approvals_user on assistant_approvals (user_id, created_at);
create index assistant_approvals_expiry on assistant_approvals (expires_at) where status = 'pending';
create index assistant_approvals_results on assistant_approvals (decided_at) where result is not null;
create index assistant_approvals_age on assistant_approvals (created_at);
