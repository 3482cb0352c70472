-- Voice calls.

-- Each call; one without a status is still running.
create table calls (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    direction text not null check (direction in ('inbound', 'outbound')),
    caller_phone text not null check (caller_phone ~ '^\+[1-9][0-9]{1,14}$'),
    agent_name text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    duration_seconds integer not null default 0 check (duration_seconds >= 0),
    status text check (status in ('completed', 'failed', 'no_answer')),
    vendor_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((status is null) = (ended_at is null)),
    check (ended_at >= started_at)
);
create index calls_order on calls (owner_id, started_at desc, id desc) include (status) where status is not null;
create index calls_phone on calls (owner_id, caller_phone);
create unique index calls_vendor on calls (owner_id, vendor_id) where vendor_id is not null;
