-- What assistants have called for their users, and calls that wait until the user has approved them.

-- Which calls of an assistant wait for the user: none, those that change or delete something, or all that write.
alter table assistant_grants add column asks_first text not null default 'never'
    check (asks_first in ('never', 'destructive', 'writes'));

-- Every call of a tool, carried out or refused, as its user reads it; without texts and addresses of people.
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
create index assistant_calls_user on assistant_calls (user_id, no);
create index assistant_calls_age on assistant_calls (at);

-- Calls that wait for the user's approval, or were decided.
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
create index assistant_approvals_call on assistant_approvals (grant_id, tool, arguments_hash);
create index assistant_approvals_user on assistant_approvals (user_id, created_at);
create index assistant_approvals_expiry on assistant_approvals (expires_at) where status = 'pending';
create index assistant_approvals_results on assistant_approvals (decided_at) where result is not null;
create index assistant_approvals_age on assistant_approvals (created_at);
