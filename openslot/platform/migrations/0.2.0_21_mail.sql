-- Every mail that was sent or kept, who gets which, and how mail and pages look.

create table mail_messages (
    id uuid primary key,
    kind text not null,
    role text,
    host_id uuid references users on delete cascade,
    booking_id uuid references bookings on delete cascade,
    recipient text not null,
    subject text not null,
    -- Whether someone without an account set it off.
    is_public boolean not null,
    status text not null check (status in ('sending', 'sent', 'failed')),
    transport text,
    -- The message itself, sealed: in the embedded mailbox alone.
    content bytea,
    error text,
    created_at timestamptz not null,
    sent_at timestamptz,
    check ((status = 'sent') = (sent_at is not null))
);
comment on table mail_messages is 'The log of mails, and the embedded mailbox.';
create index mail_messages_booking on mail_messages (booking_id, created_at);
create index mail_messages_host on mail_messages (host_id, created_at);
create index mail_messages_recipient on mail_messages (lower(recipient), created_at);
-- Limits by recipient count the addresses of one mailbox together.
create index mail_messages_canonical on mail_messages (canonical_recipient(recipient), created_at) where is_public;
create index mail_messages_age on mail_messages (created_at);
create index mail_messages_sending on mail_messages (created_at) where status = 'sending';

create table mail_limits_reached (
    host_id uuid not null references users on delete cascade,
    pot text not null,
    reached_at timestamptz not null,
    told_at timestamptz not null,
    primary key (host_id, pot)
);
comment on table mail_limits_reached is
    'Which part of the mail that the public may set off for a host was used up, when last, and when the host was '
    'told.';

create table notification_choices (
    user_id uuid not null references users on delete cascade,
    topic text not null,
    is_on boolean not null,
    updated_at timestamptz not null,
    primary key (user_id, topic)
);
comment on table notification_choices is
    'Which mails a host has switched on or off; without a row the default holds.';

create table reminder_settings (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    event_type_id uuid references event_types on delete cascade,
    minutes_before integer[] not null,
    updated_at timestamptz not null,
    -- A list of entries. The times of reminders by email are in minutes_before too, which the last release writes.
    entries jsonb,
    unique nulls not distinct (host_id, event_type_id)
);
comment on table reminder_settings is
    'When invitees are reminded: a host''s own choice, or one event type''s; without either the default holds.';
create index reminder_settings_event_type on reminder_settings (event_type_id);

create table brands (
    id uuid primary key,
    user_id uuid unique references users on delete cascade,
    organization_id uuid unique references organizations on delete cascade,
    name text,
    color text check (color ~ '^#[0-9a-f]{6}$'),
    logo_url text,
    updated_at timestamptz not null,
    check (num_nonnulls(user_id, organization_id) = 1)
);
comment on table brands is 'The name, color and logo of a user or an organization.';

create table brand_images (
    user_id uuid not null references users on delete cascade,
    kind text not null check (kind in ('logo', 'cover')),
    hash text not null,
    width integer not null,
    height integer not null,
    body bytea not null,
    updated_at timestamptz not null,
    primary key (user_id, kind)
);
comment on table brand_images is
    'The logo and the cover of a host''s pages, re-encoded like photos; the hash is also the address.';
create index brand_images_hash on brand_images (hash);
