-- Message threads and voice calls with the people behind a phone number; whose number it is, contacts tell.

create table conversations (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    contact_phone text not null check (contact_phone ~ '^\+[1-9][0-9]{1,14}$'),
    channel text not null check (channel in ('sms', 'whatsapp')),
    last_message_at timestamptz not null,
    message_count integer not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- Up to which arrival the owner has read; null: nothing.
    read_at timestamptz,
    -- When the contact's last message arrived here.
    last_inbound_at timestamptz,
    constraint conversations_one_thread unique (owner_id, contact_phone, channel)
);
comment on table conversations is 'One thread of a user with one number on one channel.';
create index conversations_order on conversations (owner_id, last_message_at desc, id desc);
create index conversations_unread on conversations (owner_id)
    where last_inbound_at > coalesce(read_at, '-infinity');
-- The limit of messages to one number counts those of all hosts.
create index conversations_phone on conversations (contact_phone, last_message_at);

create table messages (
    id uuid primary key,
    conversation_id uuid not null references conversations on delete cascade,
    content text not null,
    direction text not null check (direction in ('inbound', 'outbound')),
    status text not null check (status in ('received', 'queued', 'sending', 'unknown', 'sent', 'delivered',
        'read', 'undelivered', 'failed', 'canceled')),
    vendor_id text,
    at timestamptz not null,
    created_at timestamptz not null,
    connection_id uuid references messaging_connections on delete set null,
    -- Why it was not delivered.
    error text,
    -- Null: it came in, or was written before there were purposes.
    purpose text check (purpose in ('reply', 'reminder', 'follow_up', 'answer', 'test')),
    -- The booking that it is about.
    booking_id uuid references bookings on delete set null,
    -- Who wrote it; null: nobody by hand.
    sent_by uuid references users on delete set null,
    -- When the provider was asked to send it.
    asked_at timestamptz,
    updated_at timestamptz,
    -- How often the provider was asked.
    status_checks smallint not null default 0,
    -- After this it is not sent, because it would arrive too late.
    valid_until timestamptz,
    -- The template that is sent instead of the text, and what is filled in.
    template jsonb
);
comment on table messages is 'What was said in a thread.';
create index messages_order on messages (conversation_id, at desc, id desc);
-- A thread has one owner and one channel, so no tenant's vendor can stand in another's way.
create unique index messages_vendor on messages (conversation_id, vendor_id) where vendor_id is not null;
-- A notice that is repeated is kept once, whichever thread it went to.
create unique index messages_connection_vendor on messages (connection_id, vendor_id)
    where vendor_id is not null;
create index messages_connection on messages (connection_id) where connection_id is not null;
create index messages_booking on messages (booking_id) where booking_id is not null;
create index messages_sent_by on messages (sent_by) where sent_by is not null;
create index messages_to_send on messages (conversation_id, at, id) where status in ('queued', 'sending');
create index messages_to_check on messages (asked_at) where status = 'sent' and vendor_id is not null;
create index messages_dropped on messages (updated_at, id) where status = 'canceled' and vendor_id is null;
create index messages_age on messages (at);
create index messages_of_number on messages (connection_id, at)
    where connection_id is not null and purpose is not null and sent_by is null;

create table message_media (
    id uuid primary key,
    message_id uuid not null references messages on delete cascade,
    position integer not null,
    -- Sealed: what the provider finds it by.
    ref bytea not null,
    -- As the sender says.
    content_type text not null,
    constraint message_media_position unique (message_id, position)
);
comment on table message_media is 'Files that came with a message; they stay at the provider.';

create function keep_message_erasure() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, vendor_id)
    select gen_random_uuid(), coalesce(c.user_id, c.organization_id), c.provider, c.account, c.token, old.vendor_id
    from messaging_connections c where c.id = old.connection_id and c.token is not null;
    return old;
end $$;
comment on function keep_message_erasure is
    'Writes down that a message is to be deleted at its provider. Whoever deletes a thread, an account or what is '
    'known of a person need not know the provider.';

create trigger message_is_erased after delete on messages for each row
    when (old.connection_id is not null and old.vendor_id is not null) execute function keep_message_erasure();
comment on trigger message_is_erased on messages is 'A message that is deleted here is deleted at its provider too.';

create table calls (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    direction text not null check (direction in ('inbound', 'outbound')),
    caller_phone text not null check (caller_phone ~ '^\+[1-9][0-9]{1,14}$'),
    agent_name text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    duration_seconds integer not null default 0 check (duration_seconds >= 0),
    status text check (status in ('completed', 'failed', 'no_answer')),
    vendor_id text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    connection_id uuid references messaging_connections on delete set null,
    -- Sealed: what the provider finds the recording by, and where the transcript is.
    recording bytea,
    transcript bytea,
    check ((status is null) = (ended_at is null)),
    check (ended_at >= started_at)
);
comment on table calls is 'Each call; one without a status is still running.';
create index calls_order on calls (owner_id, started_at desc, id desc) include (status) where status is not null;
create index calls_phone on calls (owner_id, caller_phone);
create unique index calls_vendor on calls (owner_id, vendor_id) where vendor_id is not null;
create unique index calls_connection_vendor on calls (connection_id, vendor_id)
    where connection_id is not null;
create index calls_age on calls (started_at);

create table call_notices (
    connection_id uuid not null references messaging_connections on delete cascade,
    -- The provider's id of the call.
    call_id text not null,
    sequence integer not null,
    received_at timestamptz not null,
    primary key (connection_id, call_id, sequence)
);
comment on table call_notices is 'Which notices of a call have arrived, so that each counts once.';
create index call_notices_age on call_notices (received_at);

create table call_recordings (
    id uuid primary key,
    connection_id uuid not null references messaging_connections on delete cascade,
    -- The provider's id of the call.
    call_id text not null,
    -- Sealed: what the provider finds it by.
    ref bytea not null,
    received_at timestamptz not null,
    constraint call_recordings_call unique (connection_id, call_id)
);
comment on table call_recordings is
    'Recordings of calls that are not known yet, because the provider tells of both in any order.';
create index call_recordings_age on call_recordings (received_at);

create function keep_recording_erasure() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, ref)
    select gen_random_uuid(), coalesce(c.user_id, c.organization_id), c.provider, c.account, c.token, found.ref
    from messaging_connections c, unnest(array[old.recording, old.transcript]) as found (ref)
    where c.id = old.connection_id and c.token is not null and found.ref is not null;
    return old;
end $$;
comment on function keep_recording_erasure is
    'Writes down that the recording and the transcript of a call are to be deleted at the provider. It runs before '
    'the deletion: with a user, the calls go first, and what comes after finds no connection any more.';

create trigger recording_is_kept_for_erasure before delete on calls for each row
    when (old.connection_id is not null and num_nonnulls(old.recording, old.transcript) > 0)
    execute function keep_recording_erasure();
comment on trigger recording_is_kept_for_erasure on calls is
    'The recording and the transcript of a call that is deleted here are deleted at the provider too.';

create function keep_connection_erasures() returns trigger language plpgsql as $$
begin
    insert into message_erasures (id, behalf_of, provider, account, token, vendor_id, ref)
    select gen_random_uuid(), old.user_id, old.provider, old.account, old.token, found.vendor_id, found.ref
    from (select m.vendor_id, null::bytea as ref from messages m
          where m.connection_id = old.id and m.vendor_id is not null
          union all
          select null, k.recording from calls k where k.connection_id = old.id and k.recording is not null
          union all
          select null, k.transcript from calls k where k.connection_id = old.id and k.transcript is not null
          union all
          select null, r.ref from call_recordings r where r.connection_id = old.id) found;
    return old;
end $$;
comment on function keep_connection_erasures is
    'Writes down that everything that went through a user''s own number is to be deleted at the provider, '
    'whichever row is deleted first. What went through an organization''s number belongs to its hosts, and stays '
    'with them.';

create trigger connection_is_erased before delete on messaging_connections for each row
    when (old.token is not null and old.user_id is not null) execute function keep_connection_erasures();
comment on trigger connection_is_erased on messaging_connections is
    'With a user''s own number, what went through it is deleted at the provider too.';
