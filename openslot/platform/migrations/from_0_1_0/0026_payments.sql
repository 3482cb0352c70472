-- What invitees pay for bookings, what goes back to them, and what hosts have earned.

-- What becomes of the money if the invitee cancels: full, none, or until:24 for up to 24 hours before the start.
alter table event_types add column refund_policy text not null default 'full';

-- The payment of a booking. The booking waits for it as PENDING_PAYMENT, with its time taken.
create table payments (
    id uuid primary key,
    booking_id uuid not null unique references bookings on delete cascade,
    host_id uuid not null references users on delete cascade,
    -- Null: the account of the provider that took it belonged to an organization that is gone.
    connection_id uuid references payment_connections on delete set null,
    mode text not null check (mode in ('test', 'live')),
    amount bigint not null check (amount > 0),
    currency text not null,
    -- That of the event type when it was booked.
    refund_policy text not null,
    state text not null check (state in ('opening', 'open', 'processing', 'paid', 'released')),
    -- Counts the changes: what was read from the provider before the last one is old.
    version integer not null default 0,
    attempt integer not null default 1,
    session_id text unique,
    url text,
    intent_id text,
    receipt_url text,
    -- Until when the provider lets people pay, and until when the time is kept: a little longer.
    expires_at timestamptz not null,
    held_until timestamptz not null,
    paid_at timestamptz,
    refunded_amount bigint not null default 0,
    has_failed_refund boolean not null default false,
    dispute text check (dispute in ('open', 'won', 'lost')),
    respond_by timestamptz,
    -- Why a person must look at it; null: nobody need to.
    problem text,
    -- When the provider is read again; null: when it tells that something has happened.
    next_read_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check ((state = 'paid') = (paid_at is not null))
);
create index payments_host on payments (host_id, created_at desc, id desc);
create index payments_connection on payments (connection_id, created_at);
create index payments_intent on payments (intent_id) where intent_id is not null;
create index payments_due on payments (next_read_at) where next_read_at is not null;
create index payments_released on payments (held_until) where state = 'released';

-- Money that goes back to a payer: asked for here, or in the provider's own pages (then without a step of ours).
create table refunds (
    id uuid primary key,
    payment_id uuid not null references payments on delete cascade,
    amount bigint not null check (amount > 0),
    reason text not null check (reason in ('cancelled', 'late', 'host', 'outside')),
    state text not null check (state in ('wanted', 'pending', 'succeeded', 'failed', 'canceled')),
    vendor_id text unique,
    attempt integer not null default 1,
    -- Who has asked for it: a kind of actor.
    by text not null,
    error text,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create index refunds_payment on refunds (payment_id, created_at);

-- What a host has received and given back on a day in UTC, by currency.
create table revenue (
    host_id uuid not null references users on delete cascade,
    day date not null,
    currency text not null,
    mode text not null check (mode in ('test', 'live')),
    received bigint not null default 0,
    refunded bigint not null default 0,
    payments integer not null default 0,
    primary key (host_id, day, currency, mode)
);
