-- The ten agents: what they may do, what they did and spent, what waits for an approval, and the mail that they send.

-- The agents, and how much each may do by itself.
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

-- Every call of a tool, also a refused one; each record is signed together with the one before it.
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

-- How long the chain of calls is and how it ends, signed too, so that records can't be cut off at the end.
create table agent_chain (
    only_one boolean primary key default true check (only_one),
    records bigint not null,
    last bytea not null,
    signature bytea
) with (fillfactor = 50);
insert into agent_chain (records, last) values (0, '');

-- What agents have spent on a day.
create table agent_spend (
    on_date date not null,
    -- '*' is the row of all agents together.
    agent text not null,
    spent_micros bigint not null default 0 check (spent_micros >= 0),
    reserved_micros bigint not null default 0 check (reserved_micros >= 0),
    -- What agents have reported, and how much of it lies beyond their caps: all agents' budget does not count that.
    reported_micros bigint not null default 0 check (reported_micros >= 0),
    uncounted_micros bigint not null default 0 check (uncounted_micros >= 0),
    -- The spend that reached the warning threshold.
    warned_by uuid,
    primary key (on_date, agent)
);

-- What calls that are under way may still spend.
create table agent_reservations (
    id uuid primary key,
    agent text not null,
    on_date date not null,
    micros bigint not null check (micros > 0),
    at timestamptz not null
);
create index agent_reservations_age on agent_reservations (at);

-- Calls that wait for an approval or were decided.
create table approvals (
    id uuid primary key,
    tool text not null,
    requester text not null,
    key_id uuid not null,
    arguments_hash text not null,
    -- Until it is decided or has expired.
    arguments jsonb,
    status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'expired')),
    approver text,
    -- Why a person has rejected it; the agent is told.
    reason text,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    decided_at timestamptz,
    -- What the tool answered, sealed, for the requester's repeat.
    result bytea,
    is_error boolean,
    check ((status = 'pending') = (decided_at is null)),
    check (status = 'pending' or arguments is null),
    check ((status in ('approved', 'rejected')) = (approver is not null))
);
create index approvals_pending on approvals (requester, tool, arguments_hash) where status = 'pending';
create index approvals_expiry on approvals (expires_at) where status = 'pending';
create index approvals_results on approvals (decided_at) where result is not null;
create index approvals_age on approvals (created_at);

-- Addresses that marketing mail has gone to; a link to unsubscribe names one of them.
create table marketing_recipients (
    id uuid primary key,
    email text not null,
    created_at timestamptz not null,
    opted_out_at timestamptz
);
create unique index marketing_recipients_email on marketing_recipients (lower(email));

-- The log of agents' emails; the message's own entry in mail_messages appears with the first try.
create table agent_emails (
    id uuid primary key,
    at timestamptz not null,
    agent text not null,
    category text not null check (category in ('support', 'transactional', 'marketing', 'internal')),
    recipient text not null,
    subject text not null,
    -- Text, HTML and reply address, sealed, until the mail is sent or given up.
    content bytea,
    marketing_recipient_id uuid references marketing_recipients,
    -- The effect that sends it; its Message-ID is made of it.
    effect_id uuid,
    message_id text,
    status text not null default 'queued' check (status in ('queued', 'sent', 'failed')),
    error text,
    opt_out_checked boolean not null,
    cost_micros bigint not null,
    audit_id uuid not null
);
create index agent_emails_agent on agent_emails (agent, at);
create index agent_emails_age on agent_emails (at);
create index agent_emails_queued on agent_emails (at) where status = 'queued';
create index agent_emails_recipient on agent_emails (marketing_recipient_id);
