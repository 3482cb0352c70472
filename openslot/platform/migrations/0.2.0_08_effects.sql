-- What is to be done because of an event or at a time, and who does it.

create table lanes (
    lane text primary key,
    unfinished integer not null
);
comment on table lanes is 'How many effects of a lane are unfinished; the row''s own update is what orders them.';
create index lanes_empty on lanes (lane) where unfinished <= 0;

create table effects (
    id uuid primary key,
    -- The order in which they were written. No index of its own: a look at all of them is ordered by state first.
    no bigint generated always as identity,
    -- Null: planned for a time, known by its reaction and a key, with a payload and a tenant of its own.
    event_id uuid references events on delete cascade,
    key text,
    payload jsonb,
    tenant_id uuid,
    -- No reference: nobody asks for an effect's children, and to find none took a look at every effect there is.
    parent_id uuid,
    reaction text not null,
    target text,
    lane text,
    state text not null check (state in ('waiting', 'queued', 'running', 'done', 'dead', 'skipped')),
    attempts integer not null default 0,
    round integer not null default 0,
    next_try_at timestamptz not null,
    -- Whether others that are due are started before it: it has failed, or its target is slow.
    yields boolean not null default false,
    -- Who has started the try that is under way.
    worker_id uuid,
    hold_until timestamptz,
    -- Why the try that is under way is the last one: it was planned anew or dropped meanwhile.
    superseded text,
    last_error text,
    vendor_id text,
    created_at timestamptz not null,
    finished_at timestamptz
) with (
    -- Each effect is updated twice or more: a fifth of a large table is too much to be left lying about.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.02
);
comment on table effects is
    'Each reaction to an event, or what is planned for a time: its tries, and how it ended. Workers take what is '
    'due from here.';
create index effects_event on effects (event_id);
create index effects_lane on effects (lane, no) where state = 'waiting';
create index effects_held on effects (hold_until) where state = 'waiting';
create index effects_due on effects (yields, next_try_at) where state = 'queued';
create index effects_running on effects (worker_id) where state = 'running';
create index effects_dead on effects (no) where state = 'dead';
-- What has failed for one host, found without looking at what has failed for others.
create index effects_failed on effects (event_id) where state = 'dead';
create index effects_failed_plans on effects (tenant_id) where state = 'dead' and event_id is null;
-- One of each plan waits at a time: whoever plans it again moves it.
create unique index effects_planned on effects (reaction, key) where state = 'queued' and key is not null;
create index effects_key on effects (reaction, key) where state in ('queued', 'running', 'dead') and key is not null;
-- Plans that are finished go when they are older than events are kept.
create index effects_without_event on effects (finished_at) where event_id is null and finished_at is not null;
-- What became of the messages of one booking, also of those that were not sent.
create index effects_of_messages on effects (key)
    where reaction in ('messaging.remind', 'messaging.follow_up');
-- What has failed and is tried again is counted by kind and age with every look at the metrics, without reading all that
-- waits. What was planned for a time was created long before it was due, and says nothing about how long it has failed.
create index effects_failing on effects (reaction, created_at)
    where state = 'queued' and yields and attempts > 0 and event_id is not null;
-- Accounts take turns: what each waits for longest is found without reading what others wait for.
create index effects_turns on effects (tenant_id, next_try_at) where state = 'queued' and not yields;

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
    failures bigint not null default 0,
    -- Who has begun it.
    worker_id uuid
);
comment on table periodic_runs is 'The last run of each periodic job.';

create table worker_beats (
    worker_id uuid primary key,
    host text not null,
    pid integer not null,
    started_at timestamptz not null,
    beat_at timestamptz not null
);
comment on table worker_beats is
    'The workers that run, and when each was last heard of by the database''s own clock.';

create table failed_items (
    job text not null,
    -- Whom or what it is about, usually an id.
    item text not null,
    error text not null,
    failures integer not null default 1,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (job, item)
);
comment on table failed_items is
    'What a job or a consequence could not do for one of the many that it serves; gone when that one succeeds.';

create table held_effects (
    effect_id uuid primary key references effects on delete cascade,
    channel text not null references switches,
    -- The attempt that waits; if the effect has another one, it was planned anew meanwhile.
    round integer not null,
    -- When it was due: its place in the order in which they are sent.
    due_at timestamptz not null,
    held_at timestamptz not null,
    released_at timestamptz
);
comment on table held_effects is
    'Messages that wait because their channel is stopped, or have waited; those that were sent afterwards are '
    'deleted from here.';
create index held_effects_waiting on held_effects (channel, released_at);

create table chat_messages (
    effect_id uuid primary key references effects on delete cascade,
    at timestamptz not null,
    text text not null
);
comment on table chat_messages is 'What the team chat was told, or would have been.';
create index chat_messages_at on chat_messages (at);
