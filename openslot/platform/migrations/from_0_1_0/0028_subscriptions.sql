-- Who has decided a plan; null: nobody, or an operator before this was recorded (then the plan is not FREE).
alter table users add column plan_origin text check (plan_origin in ('operator', 'subscription'));
alter table organizations add column plan_origin text check (plan_origin in ('operator', 'subscription'));

-- A user or an organization with its subscription at the payment provider, or with the checkout where one can begin. A
-- row outlives its owner until the subscription is cancelled.
create table subscribers (
    id uuid primary key,
    user_id uuid references users on delete set null,
    organization_id uuid references organizations on delete set null,
    -- Of the operator's key: what belongs to the other one waits until that key is set again.
    mode text not null check (mode in ('test', 'live')),
    version int not null default 0,
    customer_id text,
    attempt int not null default 0,
    session_id text,
    session_url text,
    session_plan text,
    session_expires_at timestamptz,
    subscription_id text unique,
    plan text,
    plan_until timestamptz,
    status text,
    paid_until timestamptz,
    grace_until timestamptz,
    ends_at timestamptz,
    second_id text,
    next_read_at timestamptz,
    checked_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (user_id, mode),
    unique (organization_id, mode),
    check (num_nonnulls(user_id, organization_id) <= 1)
);
create index subscribers_due on subscribers (next_read_at) where next_read_at is not null;
create index subscribers_customer on subscribers (customer_id) where customer_id is not null;
create index subscribers_without_owner on subscribers (id) where user_id is null and organization_id is null;

-- Prices of plans as the provider has them.
create table plan_prices (
    id text primary key,
    amount bigint not null,
    currency text not null,
    period text not null,
    period_count int not null,
    read_at timestamptz not null
);

-- Up to when the provider's list of what happened to subscriptions was read, and what of it can come again.
create table subscription_feed (
    mode text primary key check (mode in ('test', 'live')),
    read_until timestamptz not null,
    seen text[] not null
);
