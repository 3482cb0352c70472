-- openslot: no transaction
-- Reminders and follow-ups by SMS and WhatsApp: who sends them by which channels, and until when each is of use.

alter table reminder_settings
    -- By which channels people are reminded; by message only those who have agreed to it.
    add column if not exists channels text[] not null default '{email}'
        check (channels <@ array['email', 'sms', 'whatsapp']);

-- What an event type's invitees are written after the meeting; without a row nothing.
create table if not exists message_follow_ups (
    event_type_id uuid primary key references event_types on delete cascade,
    channels text[] not null check (channels <@ array['sms', 'whatsapp'] and channels <> '{}'),
    hours_after integer not null check (hours_after between 1 and 336),
    -- As the host has written it, with {name}, {host} and {event}.
    text text not null,
    updated_at timestamptz not null
);

alter table messaging_connections
    -- The provider's id of a template for reminders, which WhatsApp takes at any time.
    add column if not exists template text;

-- What became of the messages of one booking, also of those that were not sent.
drop index concurrently if exists effects_of_messages;
create index concurrently effects_of_messages on effects (key)
    where reaction in ('messaging.remind', 'messaging.follow_up');

alter table messages
    -- After this it is not sent, because it would arrive too late.
    add column if not exists valid_until timestamptz,
    -- The template that is sent instead of the text, and what is filled in.
    add column if not exists template jsonb;
