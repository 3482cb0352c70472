-- What invitees pay for bookings, to which accounts, what goes back to them, and what hosts have earned.

create table payment_connections (
    id uuid primary key,
    user_id uuid references users on delete cascade,
    organization_id uuid references organizations on delete cascade,
    mode text not null check (mode in ('test', 'live')),
    -- Sealed; null: disconnected.
    key bytea,
    -- What the key ends with, so that people can tell it from others.
    key_ending text not null,
    -- Sealed; what the provider signs its notices with. Null: there is no endpoint, and the provider is only read.
    notice_secret bytea,
    -- The endpoint that we have registered; null: none, or one that somebody has registered by hand.
    endpoint_id text,
    -- Null: the key may not read it.
    account_id text,
    account_name text,
    -- Up to when the provider's list of what happened was read.
    read_until timestamptz not null,
    last_read_at timestamptz,
    -- Why it could not be read the last time.
    last_error text,
    failing_since timestamptz,
    -- When the owner was told of it.
    told_at timestamptz,
    connected_at timestamptz not null,
    disconnected_at timestamptz,
    check (num_nonnulls(user_id, organization_id) = 1),
    check ((key is null) = (disconnected_at is not null))
);
comment on table payment_connections is
    'A connection to an account of a payment provider: of a user, or of an organization for its members. One that '
    'was disconnected stays for the payments that it took, without its key.';
create unique index payment_connections_user on payment_connections (user_id) where disconnected_at is null;
create unique index payment_connections_organization on payment_connections (organization_id)
    where disconnected_at is null;
-- For those whose account or organization is deleted.
create index payment_connections_any_user on payment_connections (user_id);
create index payment_connections_any_organization on payment_connections (organization_id);

create table payment_notices (
    connection_id uuid not null references payment_connections on delete cascade,
    id text not null,
    type text not null,
    -- When it happened, by the provider's clock.
    created_at timestamptz not null,
    session_id text,
    intent_id text,
    reference text,
    received_at timestamptz not null,
    done_at timestamptz,
    primary key (connection_id, id)
);
comment on table payment_notices is
    'What the provider has told, each once, until it was looked at: which payment is to be read anew.';
create index payment_notices_waiting on payment_notices (received_at) where done_at is null;
create index payment_notices_age on payment_notices (received_at) where done_at is not null;

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
    -- When the provider is read again; null: when it tells that something has happened.
    next_read_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- Several things at once can need a person: each is kept until it is over.
    problems text[] not null default '{}',
    -- Until when invitees who cancel get everything back, where the booking was moved; null: what the policy says of its start.
    refund_until timestamptz,
    check ((state = 'paid') = (paid_at is not null))
);
comment on table payments is
    'The payment of a booking. The booking waits for it as PENDING_PAYMENT, with its time taken.';
create index payments_host on payments (host_id, created_at desc, id desc);
create index payments_connection on payments (connection_id, created_at);
create index payments_intent on payments (intent_id) where intent_id is not null;
create index payments_due on payments (next_read_at) where next_read_at is not null;
create index payments_released on payments (held_until) where state = 'released';

create function delete_unpaid_bookings() returns trigger language plpgsql as $$
begin
    delete from bookings b using payments p
    where b.event_type_id = old.id and b.status = 'PENDING_PAYMENT'
      and p.booking_id = b.id and p.state = 'released' and p.next_read_at is null;
    delete from bookings b using booking_requests r
    where b.event_type_id = old.id and b.status = 'PENDING_CONFIRMATION'
      and r.booking_id = b.id and r.state <> 'waiting';
    return old;
end $$;
comment on function delete_unpaid_bookings is
    'Deletes bookings that nobody paid for, and nobody can pay for any more, and requests that have ended without '
    'a booking: they do not keep their event type from being deleted.';

create trigger event_type_ends before delete on event_types for each row execute function delete_unpaid_bookings();
comment on trigger event_type_ends on event_types is
    'An event type can be deleted although somebody has asked for it and never got a booking.';

create function name_payment_account() returns trigger language plpgsql as $$
begin
    if new.price is null then
        new.payment_connection_id := null;
    elsif new.payment_connection_id is null and (tg_op = 'INSERT' or old.price is null) then
        new.payment_connection_id := (
            select c.id from payment_connections c
            where c.disconnected_at is null and (c.user_id = new.owner_id or c.organization_id in (
                select m.organization_id from memberships m where m.user_id = new.owner_id and m.active))
            order by c.user_id is null, c.connected_at, c.id limit 1);
    end if;
    return new;
end $$;
comment on function name_payment_account is
    'Names the account that invitees pay to. Who sets a price without naming an account gets the one that is '
    'theirs to use now: their own, or else the one that an organization of theirs has connected first.';

create trigger event_type_names_account before insert or update of price, payment_connection_id on event_types
    for each row execute function name_payment_account();
comment on trigger event_type_names_account on event_types is
    'An event type that has a price names the account that it is paid to.';

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
    updated_at timestamptz not null,
    -- Whether it was asked for as all that is left: if less is left by then, that goes back.
    is_rest boolean not null default false
);
comment on table refunds is
    'Money that goes back to a payer: asked for here, or in the provider''s own pages (then without a step of '
    'ours).';
create index refunds_payment on refunds (payment_id, created_at);

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
comment on table revenue is 'What a host has received and given back on a day in UTC, by currency.';
create index revenue_day on revenue (day);

create table payment_endings (
    id uuid primary key,
    -- The user or organization on whose behalf it is done, which may be gone too.
    behalf_of uuid not null,
    key bytea not null,
    endpoint_id text,
    sessions text[] not null default '{}',
    ended_at timestamptz not null
);
comment on table payment_endings is
    'What is still to be done at the payment provider for connections that are gone: endpoints to remove, and '
    'checkouts that nobody may pay for any more. The key is kept, sealed, until it is done.';
create index payment_endings_age on payment_endings (ended_at);

create function keep_payment_ending() returns trigger language plpgsql as $$
declare
    open_sessions text[] := array(
        select session_id from payments
        where connection_id = old.id and state in ('opening', 'open') and session_id is not null);
begin
    if old.endpoint_id is not null or open_sessions <> '{}' then
        insert into payment_endings (id, behalf_of, key, endpoint_id, sessions, ended_at)
        values (gen_random_uuid(), coalesce(old.user_id, old.organization_id), old.key, old.endpoint_id,
                open_sessions, now());
    end if;
    return old;
end $$;
comment on function keep_payment_ending is
    'Writes down what is still to be done at the payment provider for a connection that is deleted. Whoever '
    'deletes an account or an organization need not know that it was connected.';

create trigger payment_connection_ends before delete on payment_connections for each row
    when (old.key is not null) execute function keep_payment_ending();
comment on trigger payment_connection_ends on payment_connections is
    'A connection that is deleted leaves what is still to be done at the provider.';
