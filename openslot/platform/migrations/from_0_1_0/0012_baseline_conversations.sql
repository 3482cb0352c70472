-- Message threads with the people behind a phone number; whose number it is, contacts tell.

-- One thread of a user with one number on one channel.
create table conversations (
    id uuid primary key,
    owner_id uuid not null references users on delete cascade,
    contact_phone text not null check (contact_phone ~ '^\+[1-9][0-9]{1,14}$'),
    channel text not null check (channel in ('sms', 'whatsapp')),
    last_message_at timestamptz not null,
    message_count integer not null default 0,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint conversations_one_thread unique (owner_id, contact_phone, channel)
);
create index conversations_order on conversations (owner_id, last_message_at desc, id desc);

-- What was said in a thread.
create table messages (
    id uuid primary key,
    conversation_id uuid not null references conversations on delete cascade,
    content text not null,
    direction text not null check (direction in ('inbound', 'outbound')),
    status text not null check (status in ('received', 'queued', 'sent', 'delivered', 'read', 'failed')),
    vendor_id text,
    at timestamptz not null,
    created_at timestamptz not null
);
create index messages_order on messages (conversation_id, at desc, id desc);
-- A thread has one owner and one channel, so no tenant's vendor can stand in another's way.
create unique index messages_vendor on messages (conversation_id, vendor_id) where vendor_id is not null;
