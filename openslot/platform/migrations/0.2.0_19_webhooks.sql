-- Endpoints that are told of events, and what was sent to them.

create table webhook_endpoints (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    url text not null,
    description text,
    -- None: every event.
    events text[] not null default '{}',
    state text not null check (state in ('active', 'paused', 'disabled')),
    state_reason text,
    state_since timestamptz not null,
    secret bytea not null,
    previous_secret bytea,
    previous_until timestamptz,
    failing_since timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
comment on table webhook_endpoints is 'Where a user''s events are sent.';
create index webhook_endpoints_owner on webhook_endpoints (owner_id, created_at);
create index webhook_endpoints_previous on webhook_endpoints (previous_until) where previous_until is not null;

create table webhook_messages (
    event_id uuid primary key references events on delete cascade,
    sealed bytea not null,
    kept_since timestamptz not null
);
comment on table webhook_messages is
    'The bytes of an event''s body: made once, the same for every endpoint and in every try.';
create index webhook_messages_age on webhook_messages (kept_since);

create table webhook_deliveries (
    id uuid primary key,
    endpoint_id uuid not null references webhook_endpoints on delete cascade,
    event_id uuid not null references events on delete cascade,
    effect_id uuid not null,
    attempt integer not null,
    at timestamptz not null,
    url text not null,
    request_headers jsonb not null,
    status integer,
    -- Sealed, because it may repeat what it was sent.
    answer bytea,
    duration_ms integer not null,
    error text
);
comment on table webhook_deliveries is 'Each try to send an event to an endpoint, and what it answered.';
create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, at desc, id desc);
create index webhook_deliveries_event on webhook_deliveries (event_id, endpoint_id);
create index webhook_deliveries_age on webhook_deliveries (at);
