-- openslot: no transaction
-- Numbers for SMS, WhatsApp and calls that hosts and organizations have connected, and what came and went through them.

-- A number at a message provider: of a user, or of an organization for its members. One that was disconnected stays for
-- the messages that it carried, without its token.
create table if not exists messaging_connections (
    id uuid primary key,
    user_id uuid references users on delete cascade,
    organization_id uuid references organizations on delete cascade,
    provider text not null check (provider in ('twilio', 'gateway')),
    channel text not null check (channel in ('sms', 'whatsapp', 'voice')),
    number text not null check (number ~ '^\+[1-9][0-9]{1,14}$'),
    -- The provider's name of the account, or the address of a gateway.
    account text not null,
    account_name text,
    -- Sealed; null: disconnected.
    token bytea,
    -- Sealed; verifies notices too, while the token is replaced.
    second_token bytea,
    -- Who gets messages from numbers that nobody has a thread with; null: the owner.
    default_host_id uuid references users on delete set null,
    -- Whether "C" cancels the booking that the last reminder was about.
    can_cancel boolean not null default false,
    -- When the provider said the last time that all is well.
    last_checked_at timestamptz,
    -- Why it could not be used the last time.
    last_error text,
    failing_since timestamptz,
    -- When the owner was told of it.
    told_at timestamptz,
    connected_at timestamptz not null,
    disconnected_at timestamptz,
    check (num_nonnulls(user_id, organization_id) = 1),
    check ((token is null) = (disconnected_at is not null)),
    check (token is not null or second_token is null)
);
create unique index if not exists messaging_connections_user on messaging_connections (user_id, channel)
    where disconnected_at is null;
create unique index if not exists messaging_connections_organization on messaging_connections (organization_id, channel)
    where disconnected_at is null;
-- For those whose account or organization is deleted.
create index if not exists messaging_connections_any_user on messaging_connections (user_id);
create index if not exists messaging_connections_any_organization on messaging_connections (organization_id);
create index if not exists messaging_connections_default_host on messaging_connections (default_host_id);

-- Who has asked for no more messages from the numbers of a user or an organization, on whichever channel.
create table if not exists message_opt_outs (
    id uuid primary key,
    user_id uuid references users on delete cascade,
    organization_id uuid references organizations on delete cascade,
    phone text not null check (phone ~ '^\+[1-9][0-9]{1,14}$'),
    opted_out_at timestamptz not null,
    -- Not null: messages are wanted again.
    opted_in_at timestamptz,
    -- Whether a message said so, or the provider when it refused one.
    source text not null check (source in ('message', 'provider', 'owner')),
    -- The provider's id of the message that said so last.
    vendor_id text,
    check (num_nonnulls(user_id, organization_id) = 1),
    constraint message_opt_outs_user unique (user_id, phone),
    constraint message_opt_outs_organization unique (organization_id, phone)
);

-- Who has agreed to get reminders and follow-ups by message, and to what. Without a row nobody has agreed.
create table if not exists message_consents (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    phone text not null check (phone ~ '^\+[1-9][0-9]{1,14}$'),
    given_at timestamptz not null,
    -- What was agreed to, as it was shown.
    text text not null,
    source text not null,
    booking_id uuid references bookings on delete set null,
    withdrawn_at timestamptz
);
create index if not exists message_consents_phone on message_consents (host_id, phone, given_at desc);
create index if not exists message_consents_booking on message_consents (booking_id);

-- What is to be deleted at the provider, because it was deleted here. The token is kept, sealed, until it is done.
create table if not exists message_erasures (
    id uuid primary key,
    -- The user or organization on whose behalf it is done, which may be gone too.
    behalf_of uuid not null,
    provider text not null,
    account text not null,
    token bytea not null,
    -- The provider's id of a message, or the sealed reference of a recording.
    vendor_id text,
    ref bytea,
    tries integer not null default 0,
    next_try_at timestamptz not null default 'epoch',
    check (num_nonnulls(vendor_id, ref) = 1)
);
create index if not exists message_erasures_due on message_erasures (next_try_at);

-- Which notices of a call have arrived, so that each counts once.
create table if not exists call_notices (
    connection_id uuid not null references messaging_connections on delete cascade,
    -- The provider's id of the call.
    call_id text not null,
    sequence integer not null,
    received_at timestamptz not null,
    primary key (connection_id, call_id, sequence)
);
create index if not exists call_notices_age on call_notices (received_at);

alter table calls
    add column if not exists connection_id uuid references messaging_connections on delete set null,
    -- Sealed: what the provider finds the recording by, and where the transcript is.
    add column if not exists recording bytea,
    add column if not exists transcript bytea;
drop index concurrently if exists calls_connection;
create index concurrently calls_connection on calls (connection_id) where connection_id is not null;

alter table conversations
    -- Up to which arrival the owner has read; null: nothing.
    add column if not exists read_at timestamptz,
    -- When the contact's last message arrived here.
    add column if not exists last_inbound_at timestamptz;
drop index concurrently if exists conversations_unread;
create index concurrently conversations_unread on conversations (owner_id)
    where last_inbound_at > coalesce(read_at, '-infinity');

alter table messages
    add column if not exists connection_id uuid references messaging_connections on delete set null,
    -- Why it was not delivered.
    add column if not exists error text,
    -- Null: it came in, or was written before there were purposes.
    add column if not exists purpose text check (purpose in ('reply', 'reminder', 'follow_up', 'answer', 'test')),
    -- The booking that it is about.
    add column if not exists booking_id uuid references bookings on delete set null,
    -- Who wrote it; null: nobody by hand.
    add column if not exists sent_by uuid references users on delete set null,
    -- When the provider was asked to send it.
    add column if not exists asked_at timestamptz,
    add column if not exists updated_at timestamptz,
    drop constraint if exists messages_status_check,
    add constraint messages_status_check check (status in ('received', 'queued', 'sending', 'unknown', 'sent',
        'delivered', 'read', 'undelivered', 'failed', 'canceled')) not valid;
alter table messages validate constraint messages_status_check;
-- A notice that is repeated is kept once, whichever thread it went to.
drop index concurrently if exists messages_connection_vendor;
create unique index concurrently messages_connection_vendor on messages (connection_id, vendor_id)
    where vendor_id is not null;
drop index concurrently if exists messages_connection;
create index concurrently messages_connection on messages (connection_id) where connection_id is not null;
drop index concurrently if exists messages_booking;
create index concurrently messages_booking on messages (booking_id) where booking_id is not null;
drop index concurrently if exists messages_sent_by;
create index concurrently messages_sent_by on messages (sent_by) where sent_by is not null;

-- Files that came with a message; they stay at the provider.
create table if not exists message_media (
    id uuid primary key,
    message_id uuid not null references messages on delete cascade,
    position integer not null,
    -- Sealed: what the provider finds it by.
    ref bytea not null,
    -- As the sender says.
    content_type text not null,
    constraint message_media_position unique (message_id, position)
);

-- Whoever deletes a thread, an account or what is known of a person need not know the provider.
create or replace function keep_message_erasure() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, vendor_id)
    select gen_random_uuid(), coalesce(c.user_id, c.organization_id), c.provider, c.account, c.token, old.vendor_id
    from messaging_connections c where c.id = old.connection_id and c.token is not null;
    return old;
end $$;
create or replace trigger message_is_erased after delete on messages for each row
    when (old.connection_id is not null and old.vendor_id is not null) execute function keep_message_erasure();

create or replace function keep_recording_erasure() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, ref)
    select gen_random_uuid(), coalesce(c.user_id, c.organization_id), c.provider, c.account, c.token, old.recording
    from messaging_connections c where c.id = old.connection_id and c.token is not null;
    return old;
end $$;
create or replace trigger recording_is_erased after delete on calls for each row
    when (old.connection_id is not null and old.recording is not null) execute function keep_recording_erasure();

-- With a user everything that went through the user's own numbers goes, whichever row is deleted first. What went
-- through an organization's number belongs to its hosts, and stays with them.
create or replace function keep_connection_erasures() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, vendor_id, ref)
    select gen_random_uuid(), old.user_id, old.provider, old.account, old.token, found.vendor_id, found.ref
    from (select m.vendor_id, null::bytea as ref from messages m
          where m.connection_id = old.id and m.vendor_id is not null
          union all
          select null, k.recording from calls k where k.connection_id = old.id and k.recording is not null) found;
    return old;
end $$;
create or replace trigger connection_is_erased before delete on messaging_connections for each row
    when (old.token is not null and old.user_id is not null) execute function keep_connection_erasures();
