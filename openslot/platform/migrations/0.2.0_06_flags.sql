-- Parts of the product that an operator can switch off, for everyone or for one user, and channels that are stopped.

create table flags (
    key text primary key,
    description text not null,
    enabled boolean not null,
    updated_at timestamptz not null
);
comment on table flags is 'The flags, on or off for everyone.';
insert into flags (key, description, enabled, updated_at) values
    ('api_docs', 'The API reference at /api/docs and the OpenAPI description at /api/openapi.json are served.', true, now()),
    ('booking_holds', 'Visitors can hold a slot for ten minutes while they fill in the booking form.', true, now()),
    ('calendar_feeds', 'Calendar programs can read a host''s bookings by the secret feed link.', true, now()),
    ('calendar_two_way', 'A booking that its host moves or deletes in a connected calendar is rescheduled or cancelled.', true,
     now()),
    ('mail_reminders', 'Invitees and guests get reminder emails before a meeting.', true, now());

create table flag_overrides (
    flag_key text not null references flags on delete cascade,
    user_id uuid not null references users on delete cascade,
    enabled boolean not null,
    updated_at timestamptz not null,
    primary key (flag_key, user_id)
);
comment on table flag_overrides is 'Flags that one user has otherwise than everyone.';
create index flag_overrides_user on flag_overrides (user_id);

create table flag_version (
    only_one boolean primary key default true check (only_one),
    version uuid not null
);
comment on table flag_version is
    'Every process keeps the flags in memory and reads them again when the version differs. Whoever changes a flag '
    'changes the version, and it never has the same value twice: not even after a rollback.';
insert into flag_version (version) values (gen_random_uuid());

create function change_flag_version() returns trigger language plpgsql as $$
begin
    update flag_version set version = gen_random_uuid();
    return null;
end $$;
comment on function change_flag_version is
    'Gives the flags another version, by which every process notices that it must read them again.';

create trigger flags_changed after insert or update or delete or truncate on flags
    for each statement execute function change_flag_version();
comment on trigger flags_changed on flags is 'Every process notices that a flag has changed.';

create trigger flag_overrides_changed after insert or update or delete or truncate on flag_overrides
    for each statement execute function change_flag_version();
comment on trigger flag_overrides_changed on flag_overrides is
    'Every process notices that one user has a flag otherwise.';

create table switches (
    channel text primary key check (channel in ('sms', 'whatsapp', 'voice', 'email')),
    stopped_at timestamptz,
    stopped_by jsonb,
    reason text,
    check (num_nulls(stopped_at, stopped_by, reason) in (0, 3))
);
comment on table switches is
    'Which channels of outgoing messages are stopped, since when, by whom and why. All rows are there from the '
    'beginning: whoever lets an effect wait locks the channel''s row, so that it can''t be resumed at the same '
    'moment.';
insert into switches (channel) values ('sms'), ('whatsapp'), ('voice'), ('email');
