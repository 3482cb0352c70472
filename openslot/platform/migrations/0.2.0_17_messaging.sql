-- Numbers for SMS, WhatsApp and calls that hosts and organizations have connected, and who wants to hear from them.

create table messaging_connections (
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
    -- The provider's id of a template for reminders, which WhatsApp takes at any time.
    template text,
    -- The countries that it sends messages to: two letters each, `*` for every country; none is that of the number.
    countries text[] not null default '{}',
    check (num_nonnulls(user_id, organization_id) = 1),
    check ((token is null) = (disconnected_at is not null)),
    check (token is not null or second_token is null)
);
comment on table messaging_connections is
    'A number at a message provider: of a user, or of an organization for its members. One that was disconnected '
    'stays for the messages that it carried, without its token.';
create unique index messaging_connections_user on messaging_connections (user_id, channel)
    where disconnected_at is null;
create unique index messaging_connections_organization on messaging_connections (organization_id, channel)
    where disconnected_at is null;
-- For those whose account or organization is deleted.
create index messaging_connections_any_user on messaging_connections (user_id);
create index messaging_connections_any_organization on messaging_connections (organization_id);
create index messaging_connections_default_host on messaging_connections (default_host_id);

create table host_numbers (
    user_id uuid not null references users on delete cascade,
    channel text not null,
    connection_id uuid not null,
    primary key (user_id, channel)
);
comment on table host_numbers is
    'The number that a host writes from on each channel: joining or leaving an organization does not change it. '
    'One that was disconnected, or whose organization the host has left, is not used; it is no foreign key, '
    'because one that was deleted stays named until the host chooses another one.';
create index host_numbers_connection on host_numbers (connection_id);

create function name_number_of_connection() returns trigger language plpgsql as $$
begin
    if new.user_id is not null then
        insert into host_numbers (user_id, channel, connection_id) values (new.user_id, new.channel, new.id)
        on conflict (user_id, channel) do update set connection_id = excluded.connection_id;
    else
        insert into host_numbers (user_id, channel, connection_id)
        select m.user_id, new.channel, new.id from memberships m
        where m.organization_id = new.organization_id and m.active order by m.user_id
        on conflict do nothing;
    end if;
    return null;
end $$;
comment on function name_number_of_connection is
    'Names a number that was connected: whoever connects it uses it; members of an organization that connects one '
    'use it if they have named none.';

create trigger messaging_connection_names_number after insert on messaging_connections
    for each row when (new.disconnected_at is null) execute function name_number_of_connection();
comment on trigger messaging_connection_names_number on messaging_connections is
    'Whoever connects a number writes from it.';

create function name_number_of_member() returns trigger language plpgsql as $$
begin
    insert into host_numbers (user_id, channel, connection_id)
    select new.user_id, c.channel, c.id from messaging_connections c
    where c.organization_id = new.organization_id and c.disconnected_at is null
    on conflict do nothing;
    return null;
end $$;
comment on function name_number_of_member is 'Names the numbers of an organization for a member who has named none.';

create trigger membership_names_number after insert or update of active on memberships
    for each row when (new.active) execute function name_number_of_member();
comment on trigger membership_names_number on memberships is
    'Who joins an organization writes from its numbers, unless they have named others.';

create table message_opt_outs (
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
comment on table message_opt_outs is
    'Who has asked for no more messages from the numbers of a user or an organization, on whichever channel.';

create table message_consents (
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
comment on table message_consents is
    'Who has agreed to get reminders and follow-ups by message, and to what. Without a row nobody has agreed.';
create index message_consents_phone on message_consents (host_id, phone, given_at desc);
create index message_consents_booking on message_consents (booking_id);

create table message_erasures (
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
comment on table message_erasures is
    'What is to be deleted at the provider, because it was deleted here. The token is kept, sealed, until it is '
    'done.';
create index message_erasures_due on message_erasures (next_try_at);
