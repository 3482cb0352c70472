-- Credentials (only their hashes), limits, and answers that are kept for safe retries.

-- Users' keys for the API.
create table api_keys (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    -- A key is rotated once; then the new one is rotated.
    replaced_by uuid
);
create index api_keys_user on api_keys (user_id);

-- Organizations' tokens for their identity providers.
create table scim_tokens (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    replaced_by uuid
);
create index scim_tokens_organization on scim_tokens (organization_id);

-- Keys of the platform's agents.
create table agent_keys (
    id uuid primary key,
    agent text not null,
    name text not null,
    hash bytea not null unique,
    last_four text not null,
    scopes text[] not null default '{}',
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    replaced_by uuid
);
create index agent_keys_agent on agent_keys (agent);

-- Signed-in browsers.
create table sessions (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    -- To the hour; null: not used since it began, or not for more than an hour.
    last_seen_at timestamptz,
    user_agent text not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- The link by which the first account is opened.
create table setup_links (
    hash bytea primary key,
    created_at timestamptz not null,
    expires_at timestamptz not null
);

-- Links to choose a new password; one works only while the account has the address that it was sent to and the password
-- that it had then.
create table password_resets (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    email text not null,
    -- SHA-256 of the stored hash; null: the account had no password.
    password_digest bytea,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index password_resets_user on password_resets (user_id, created_at);
create index password_resets_canonical on password_resets (canonical_recipient(email), created_at);
create index password_resets_expiry on password_resets (expires_at);

-- New addresses that users have asked for and that wait for the link in the mail to be used; one works only while the
-- account has the address and the password that it had when it was asked for.
create table address_changes (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    email text not null,
    previous_email text not null,
    -- SHA-256 of the stored hash.
    password_digest bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    -- Used, withdrawn or replaced by a newer one; kept for a day, because it counts for the limit of an account.
    ended_at timestamptz
);
create index address_changes_user on address_changes (user_id, created_at);
create index address_changes_expiry on address_changes (expires_at);

-- Authenticator apps for the second factor.
create table authenticators (
    id uuid primary key,
    user_id uuid not null unique references users on delete cascade,
    -- Sealed.
    secret bytea not null,
    -- Until a first code has shown that the app has the secret, only the session that began the set-up can see it.
    begun_in uuid,
    -- The newest 30-second step whose code was used.
    last_step bigint not null default 0,
    created_at timestamptz not null,
    confirmed_at timestamptz
);

-- Codes that replace a lost authenticator app, each of them once.
create table recovery_codes (
    user_id uuid not null references users on delete cascade,
    hash bytea not null,
    created_at timestamptz not null,
    used_at timestamptz,
    primary key (user_id, hash)
);

-- Sign-ins whose first factor was right and whose second is still missing.
create table pending_sign_ins (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    -- A hash of the password's hash, so that a new password ends it.
    password_mark bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index pending_sign_ins_user on pending_sign_ins (user_id);
create index pending_sign_ins_expiry on pending_sign_ins (expires_at);

-- Who a user is at an identity provider.
create table identities (
    issuer text not null,
    subject text not null,
    user_id uuid not null references users on delete cascade,
    created_at timestamptz not null,
    primary key (issuer, subject),
    unique (user_id, issuer)
);

-- Sign-ins through a provider that were finished: what comes back a second time is refused until it has expired anyway.
create table finished_oidc_sign_ins (
    hash bytea primary key,
    expires_at timestamptz not null
);
create index finished_oidc_sign_ins_expiry on finished_oidc_sign_ins (expires_at);

-- Wrong passwords, so that guessing gets slower with each: of an account by all strangers together, of one of its owner's
-- devices, of a session. Lost after a crash on purpose, as rate_log is.
create unlogged table wrong_passwords (
    -- SHA-256 of what is guessed at: as long for an email address of any length, and no list of addresses.
    subject bytea primary key,
    failures int not null,
    -- Whether the last try was let through.
    taken boolean not null,
    free_at timestamptz not null,
    failed_at timestamptz not null
);
create index wrong_passwords_age on wrong_passwords (failed_at);

-- Sliding logs of who came how often. Lost after a crash on purpose: a limit that forgets a minute is better than one that
-- costs a flush.
create unlogged table rate_log (
    bucket text collate "C" primary key,
    stamps bigint[] not null,
    -- How many of those who came at the same moment were let through.
    taken int not null
) with (fillfactor = 50);

-- Answers to requests with an Idempotency-Key, kept for retries.
create table idempotency (
    scope bytea not null,
    key text not null,
    request_hash bytea not null,
    -- Status, headers and body.
    sealed bytea not null,
    created_at timestamptz not null,
    primary key (scope, key)
);
create index idempotency_age on idempotency (created_at);
