-- A second factor of the sign-in: authenticator apps, recovery codes, and sign-ins that wait for a code.

-- The secret is sealed. `confirmed_at` is null until a first code has shown that the app has the secret; until then only
-- the session that began the set-up can see it. `last_step` is the newest 30-second step whose code was used.
create table authenticators (
    id uuid primary key,
    user_id uuid not null unique references users on delete cascade,
    secret bytea not null,
    begun_in uuid,
    last_step bigint not null default 0,
    created_at timestamptz not null,
    confirmed_at timestamptz
);

create table recovery_codes (
    user_id uuid not null references users on delete cascade,
    hash bytea not null,
    created_at timestamptz not null,
    used_at timestamptz,
    primary key (user_id, hash)
);

-- The first factor was right and the second is still missing. `password_mark` is a hash of the password's hash, so that a
-- new password ends it.
create table pending_sign_ins (
    id uuid primary key,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    password_mark bytea not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
create index pending_sign_ins_user on pending_sign_ins (user_id);
create index pending_sign_ins_expiry on pending_sign_ins (expires_at);
