-- What was spent by those who cause a cost, so that it is limited by who causes it.

-- How an account came about: true for the form to sign up, null for accounts from before this was recorded.
alter table users add column signed_up boolean;

-- How much one cause has spent of one cost within a sliding window. What is not spent again is removed when it is over.
create table allowances (
    -- The cost, the cause and, if it is narrower, what for.
    bucket text collate "C" primary key,
    -- How many microseconds one part of the window lasts, and the number of the newest part since 1970.
    width bigint not null,
    part bigint not null,
    -- The amount of each part, the newest last.
    spent integer[] not null,
    -- How much was allowed when it was last asked, and whether that was given.
    most integer not null,
    given boolean not null,
    kept_until timestamptz not null
) with (fillfactor = 50);
create index allowances_end on allowances (kept_until);

-- What was last refused, for the host who is told.
create table allowance_refusals (
    user_id uuid not null references users on delete cascade,
    cost text not null,
    -- Who had used the allowance up: an account, a network or a mail domain.
    cause text not null,
    refused integer not null,
    most integer not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (user_id, cost, cause)
);
create index allowance_refusals_age on allowance_refusals (last_at);
