-- What agents spend, the calls that wait for an approval, and the e-mails that agents send.

create table agent_spend (
    on_date date not null,
    -- '*' is the row of all agents together.
    agent text not null,
    spent_micros bigint not null default 0 check (spent_micros >= 0),
    reserved_micros bigint not null default 0 check (reserved_micros >= 0),
    -- The spend that reached the warning threshold.
    warned_by uuid,
    primary key (on_date, agent)
);

create table agent_reservations (
    id uuid primary key,
    agent text not null,
    on_date date not null,
    micros bigint not null check (micros > 0),
    at timestamptz not null
);
create index agent_reservations_age on agent_reservations (at);

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

-- The log of agents' e-mails. The message's own entry in mail_messages appears with the first try.
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
