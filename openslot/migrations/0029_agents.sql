-- The ten agents, what their keys may do, and the chained record of every call of a tool.

create table agents (
    slug text primary key,
    autonomy_level smallint not null check (autonomy_level between 0 and 1),
    email_level smallint not null check (email_level between 0 and 1),
    scopes text[] not null
);

insert into agents (slug, autonomy_level, email_level, scopes) values
    ('support', 1, 1, '{audit:read,bookings:write,budget:read,contacts:write,email:write,events:read,users:write}'),
    ('cto', 1, 0, '{analytics:read,audit:read,bookings:read,budget:read,codebase:read,contacts:read,email:write,events:read,flags:read,flags:write,infra:read,infra:write,users:read}'),
    ('data', 1, 0, '{analytics:read,audit:read,bookings:read,budget:read,contacts:read,email:write,events:read,flags:read,infra:read,users:read}'),
    ('devops', 1, 1, '{analytics:read,audit:read,budget:read,codebase:read,email:write,flags:write,infra:write}'),
    ('orchestrator', 1, 1, '{analytics:read,audit:read,bookings:read,bookings:write,budget:read,codebase:read,contacts:read,contacts:write,email:write,events:read,flags:read,flags:write,images:write,infra:read,infra:write,users:read,users:write}'),
    ('seo', 0, 0, '{analytics:read,budget:read,codebase:read,email:write,events:read}'),
    ('growth', 0, 0, '{analytics:read,budget:read,email:write,flags:read,images:write,users:read}'),
    ('outbound', 0, 1, '{analytics:read,budget:read,contacts:read,email:write,users:read}'),
    ('customer_success', 0, 0, '{analytics:read,bookings:read,budget:read,contacts:write,email:write,events:read,users:read}'),
    ('content', 0, 0, '{analytics:read,budget:read,codebase:read,email:write,events:read,images:write}');

-- The last release makes keys without scopes: those have the scopes of their agent.
alter table agent_keys add column scopes text[];

-- Every call of a tool, also a refused one. Each record is signed together with the one before it.
create table agent_calls (
    id uuid primary key,
    no bigint not null unique,
    at timestamptz not null,
    agent text not null,
    key_id uuid not null,
    tool text,
    scope text,
    tier text,
    input_hash text,
    status text not null,
    error_code integer,
    latency_ms integer not null,
    cost_micros bigint not null,
    approval_id uuid,
    approver text,
    request_id text not null,
    target_type text,
    target_id text,
    signature bytea not null
);
create index agent_calls_at on agent_calls (at, id);
create index agent_calls_agent on agent_calls (agent, at, id);
create index agent_calls_tool on agent_calls (tool, at, id);
create index agent_calls_status on agent_calls (status, at, id);
create index agent_calls_target on agent_calls (target_id, at, id) where target_id is not null;

-- How long the chain is and how it ends, signed too, so that records can't be cut off at the end.
create table agent_chain (
    only_one boolean primary key default true check (only_one),
    records bigint not null,
    last bytea not null,
    signature bytea
) with (fillfactor = 50);
insert into agent_chain (records, last) values (0, '');
