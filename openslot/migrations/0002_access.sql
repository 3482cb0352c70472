-- Credentials (only their hashes), sliding logs of who came how often, and answers kept for safe retries.

create table api_keys (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
create index api_keys_user on api_keys (user_id);

create table scim_tokens (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
create index scim_tokens_organization on scim_tokens (organization_id);

create table agent_keys (
    id uuid primary key,
    agent text not null,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
create index agent_keys_agent on agent_keys (agent);

create table sessions (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    user_agent text not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

create table setup_links (
    hash bytea primary key,
    created_at timestamptz not null,
    expires_at timestamptz not null
);

-- Lost after a crash on purpose: a limit that forgets a minute is better than one that costs a flush.
create unlogged table rate_log (
    bucket text primary key,
    stamps bigint[] not null,
    taken boolean not null
) with (fillfactor = 50);

create table idempotency (
    scope bytea not null,
    key text not null,
    request_hash bytea not null,
    status smallint not null,
    headers jsonb not null,
    body bytea not null,
    created_at timestamptz not null,
    primary key (scope, key)
);
create index idempotency_age on idempotency (created_at);
