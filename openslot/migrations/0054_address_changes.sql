-- New addresses that users have asked for and that wait for the link in the mail to be used.

-- A link works only while the account has the address and the password that it had when it was asked for.
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
