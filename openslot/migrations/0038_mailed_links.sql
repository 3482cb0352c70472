-- Links that are sent by mail, to sign up or to choose a new password, and when a session was last used.

-- What somebody has typed in the form. There is no account before the link is used.
create table sign_ups (
    id uuid primary key,
    hash bytea not null unique,
    -- SHA-256 of the cookie of the browser that sent the form.
    browser_hash bytea not null,
    email text not null,
    name text not null,
    zone text not null,
    locale text not null,
    password_hash text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index sign_ups_email on sign_ups (lower(email), created_at);
create index sign_ups_expiry on sign_ups (expires_at);

-- A link works only while the account has the address that it was sent to and the password that it had then.
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
create index password_resets_expiry on password_resets (expires_at);

-- To the hour; null: not used since it began, or not for more than an hour.
alter table sessions add column last_seen_at timestamptz;
