-- Wrong passwords, so that guessing gets slower with each: of an account by all strangers together, of one of its owner's
-- devices, of a session. Lost after a crash on purpose, as the logs of the other limits are.
create unlogged table wrong_passwords (
    -- SHA-256 of what is guessed at: as long for an e-mail address of any length, and no list of addresses.
    subject bytea primary key,
    failures int not null,
    -- Whether the last try was let through.
    taken boolean not null,
    free_at timestamptz not null,
    failed_at timestamptz not null
);
create index wrong_passwords_age on wrong_passwords (failed_at);
