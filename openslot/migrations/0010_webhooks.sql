-- Endpoints that are told of events, what was sent to them, and the ordered feed of past events.

-- What goes out keeps the order of its fields.
alter table events alter column public type json;

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
create index webhook_endpoints_owner on webhook_endpoints (owner_id, created_at);

-- The bytes of an event's body: made once, the same for every endpoint and in every try.
create table webhook_messages (
    event_id uuid primary key references events on delete cascade,
    body bytea not null,
    kept_since timestamptz not null
);
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
    answer bytea,
    duration_ms integer not null,
    error text
);
create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, at desc, id desc);
create index webhook_deliveries_event on webhook_deliveries (event_id, endpoint_id);
create index webhook_deliveries_age on webhook_deliveries (at);

-- The order in which events became visible: numbers without gaps, given at the commit under the tenant's lock, so that
-- whoever sees one number can see every lower one.
create table event_feeds (
    tenant_id uuid primary key,
    last_no bigint not null
);
create table event_feed (
    tenant_id uuid not null,
    no bigint not null,
    event_id uuid not null unique references events on delete cascade,
    type text not null,
    primary key (tenant_id, no)
);

create function number_event() returns trigger language plpgsql as $$
begin
    with head as (
        insert into event_feeds as f (tenant_id, last_no) values (new.tenant_id, 1)
        on conflict (tenant_id) do update set last_no = f.last_no + 1
        returning last_no
    )
    insert into event_feed (tenant_id, no, event_id, type)
    select new.tenant_id, head.last_no, new.id, new.type from head;
    return null;
end $$;

insert into event_feed (tenant_id, no, event_id, type)
select tenant_id, row_number() over (partition by tenant_id order by no), id, type
from events where public is not null and tenant_id is not null;
insert into event_feeds (tenant_id, last_no) select tenant_id, max(no) from event_feed group by tenant_id;

create constraint trigger events_numbered after insert on events deferrable initially deferred
    for each row when (new.public is not null and new.tenant_id is not null) execute function number_event();
