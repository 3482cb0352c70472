-- Feature flags: parts of the product that an operator can switch off, for everyone or for one user.

-- The flags, on or off for everyone.
create table flags (
    key text primary key,
    description text not null,
    enabled boolean not null,
    updated_at timestamptz not null
);
insert into flags (key, description, enabled, updated_at) values
    ('api_docs', 'The API reference at /api/docs and the OpenAPI description at /api/openapi.json are served.', true, now()),
    ('booking_holds', 'Visitors can hold a slot for ten minutes while they fill in the booking form.', true, now()),
    ('calendar_feeds', 'Calendar programs can read a host''s bookings by the secret feed link.', true, now()),
    ('calendar_two_way', 'A booking that its host moves or deletes in a connected calendar is rescheduled or cancelled.', true,
     now()),
    ('mail_reminders', 'Invitees and guests get reminder emails before a meeting.', true, now());

-- Flags that one user has otherwise than everyone.
create table flag_overrides (
    flag_key text not null references flags on delete cascade,
    user_id uuid not null references users on delete cascade,
    enabled boolean not null,
    updated_at timestamptz not null,
    primary key (flag_key, user_id)
);
create index flag_overrides_user on flag_overrides (user_id);

-- Every process keeps the flags in memory and reads them again when the version differs. Whoever changes a flag changes the
-- version, and it never has the same value twice: not even after a rollback.
create table flag_version (
    only_one boolean primary key default true check (only_one),
    version uuid not null
);
insert into flag_version (version) values (gen_random_uuid());

create function change_flag_version() returns trigger language plpgsql as $$
begin
    update flag_version set version = gen_random_uuid();
    return null;
end $$;
create trigger flags_changed after insert or update or delete or truncate on flags
    for each statement execute function change_flag_version();
create trigger flag_overrides_changed after insert or update or delete or truncate on flag_overrides
    for each statement execute function change_flag_version();
