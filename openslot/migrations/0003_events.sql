-- What happened, what is to be done because of it, and the runs of what the clock does.

create table events (
    id uuid primary key,
    no bigint generated always as identity unique,
    type text not null,
    at timestamptz not null,
    actor jsonb not null,
    tenant_id uuid,
    subject_kind text not null,
    subject_id uuid,
    fact jsonb not null,
    public jsonb
);
create index events_tenant on events (tenant_id, no);
create index events_subject on events (subject_id, no);
create index events_type on events (type, no);

-- How many effects of a lane are unfinished; the row's own update is what orders them.
create table lanes (
    lane text primary key,
    unfinished integer not null
);

create table effects (
    id uuid primary key,
    no bigint generated always as identity unique,
    event_id uuid not null references events on delete cascade,
    parent_id uuid references effects on delete cascade,
    reaction text not null,
    target text,
    lane text,
    state text not null check (state in ('waiting', 'queued', 'running', 'done', 'dead', 'skipped')),
    attempts integer not null default 0,
    round integer not null default 0,
    next_try_at timestamptz not null,
    hold_until timestamptz,
    last_error text,
    vendor_id text,
    created_at timestamptz not null,
    finished_at timestamptz
);
create index effects_event on effects (event_id);
create index effects_lane on effects (lane, no) where state = 'waiting';
create index effects_due on effects (next_try_at) where state in ('queued', 'running');
create index effects_held on effects (hold_until) where state = 'waiting';
create index effects_dead on effects (no) where state = 'dead';

create table periodic_runs (
    name text primary key,
    expression text not null,
    due_at timestamptz not null,
    started_at timestamptz not null,
    finished_at timestamptz,
    lateness_ms bigint not null,
    status text not null check (status in ('running', 'ok', 'failed')),
    result text,
    runs bigint not null default 1,
    failures bigint not null default 0
);

create table worker_beats (
    worker_id uuid primary key,
    host text not null,
    pid integer not null,
    started_at timestamptz not null,
    beat_at timestamptz not null
);
