-- Users, organizations, and who belongs to what.

create table users (
    id uuid primary key,
    -- A small number for locks and for the ranges of claims.
    no bigint generated always as identity unique,
    email text not null,
    name text not null,
    username text not null,
    password_hash text,
    plan text not null default 'FREE' check (plan in ('FREE', 'PRO', 'BUSINESS')),
    plan_until timestamptz,
    trial_plan text check (trial_plan in ('PRO', 'BUSINESS')),
    trial_until timestamptz,
    zone text not null default 'UTC',
    locale text not null default 'en',
    is_admin boolean not null default false,
    -- What the host's page shows beside the name: a text, and the hash of a photo.
    welcome text,
    photo text,
    -- The next of the first steps; null once they are finished or skipped.
    welcome_step smallint,
    disabled_at timestamptz,
    -- The organization that has closed the account and may open it again; null if an operator has closed it, because an
    -- operator's word is never undone by a provider.
    suspended_by uuid,
    -- A booking that was asked for before its host left an organization, and is made after, is refused.
    left_at timestamptz,
    deleting_since timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- How a user wants pages to look; null: as the system and the language have it.
    theme text check (theme in ('light', 'dark')),
    hour_format smallint check (hour_format in (12, 24)),
    -- From Monday as 0.
    first_weekday smallint check (first_weekday between 0 and 6),
    -- Who has decided a plan; null: nobody, or an operator before this was recorded (then the plan is not FREE).
    plan_origin text check (plan_origin in ('operator', 'subscription')),
    -- Whether the pages of a host say below that they are powered by Openslot.
    shows_footer boolean not null default true,
    -- How an account came about: true for the form to sign up, null for accounts from before this was recorded.
    signed_up boolean,
    check ((trial_plan is null) = (trial_until is null)),
    check (suspended_by is null or disabled_at is not null)
);
comment on table users is 'People with an account.';
create unique index users_email on users (lower(email));
create unique index users_username on users (lower(username));
create index users_made on users (created_at);

create table former_usernames (
    -- Of the lower-case name; all that is kept of a deleted account.
    name_hash bytea primary key,
    user_id uuid references users on delete cascade,
    name text,
    -- Whether links with this name lead to the owner's page.
    leads boolean not null default true,
    left_at timestamptz not null,
    reserved_until timestamptz not null,
    check ((user_id is null) = (name is null))
);
comment on table former_usernames is
    'Former usernames: reserved for their owner for 180 days, and nobody''s for as long once the account is '
    'deleted.';
create index former_usernames_user on former_usernames (user_id);
create index former_usernames_end on former_usernames (reserved_until);

create function hash_username(username text) returns bytea language sql immutable strict parallel safe as $$
    select sha256(convert_to(lower(username), 'UTF8'))
$$;
comment on function hash_username is
    'Names a former username without keeping it: all that is left of a deleted account.';

create function reserve_username() returns trigger language plpgsql as $$
begin
    if exists (
        select from former_usernames
        where name_hash = hash_username(new.username) and user_id is distinct from new.id
          and reserved_until > new.updated_at
    ) then
        raise unique_violation using message = 'the username is reserved', constraint = 'users_username_reserved';
    end if;
    delete from former_usernames where name_hash = hash_username(new.username);
    if tg_op = 'UPDATE' then
        insert into former_usernames (name_hash, user_id, name, left_at, reserved_until) values (
            hash_username(old.username), new.id, lower(old.username), new.updated_at,
            new.updated_at + interval '180 days')
        on conflict (name_hash) do update set user_id = excluded.user_id, name = excluded.name, leads = true,
            left_at = excluded.left_at, reserved_until = excluded.reserved_until;
    end if;
    return null;
end $$;
comment on function reserve_username is
    'Refuses a username that is reserved for somebody else, and reserves the one that was given up. Runs after the '
    'row is in the unique index: whoever had the name in a transaction that was still running has committed by '
    'then, and what that transaction has reserved is seen here.';

create trigger users_added after insert on users for each row execute function reserve_username();
comment on trigger users_added on users is 'A new account can''t have a name that is reserved for somebody else.';

create trigger users_renamed after update of username on users for each row
    when (lower(old.username) <> lower(new.username)) execute function reserve_username();
comment on trigger users_renamed on users is
    'A renamed account can''t have such a name either, and its former name stays reserved for it.';

create function keep_username_of_deleted() returns trigger language plpgsql as $$
begin
    update former_usernames set user_id = null, name = null, leads = false where user_id = old.id;
    insert into former_usernames (name_hash, leads, left_at, reserved_until)
    values (hash_username(old.username), false, old.updated_at, old.updated_at + interval '180 days')
    on conflict (name_hash) do nothing;
    return old;
end $$;
comment on function keep_username_of_deleted is
    'Reserves the username of a deleted account for nobody, so that its links lead to no stranger.';

create trigger users_deleted before delete on users for each row execute function keep_username_of_deleted();
comment on trigger users_deleted on users is 'The name of a deleted account is given to nobody for a while.';

create table photos (
    user_id uuid primary key references users on delete cascade,
    hash text not null,
    body bytea not null,
    updated_at timestamptz not null
);
comment on table photos is 'Users'' photos; `users.photo` is the hash, which is also the photo''s address.';
create index photos_hash on photos (hash);

create table sign_ups (
    id uuid primary key,
    hash bytea not null unique,
    -- SHA-256 of the cookie of the browser that sent the form.
    browser_hash bytea not null,
    email text not null,
    name text not null,
    zone text not null,
    locale text not null,
    password_hash text not null,
    created_at timestamptz not null,
    expires_at timestamptz not null
);
comment on table sign_ups is
    'What somebody has typed in the sign-up form; there is no account before the link in the mail is used.';
create index sign_ups_email on sign_ups (lower(email), created_at);
create index sign_ups_canonical on sign_ups (canonical_recipient(email), created_at);
create index sign_ups_expiry on sign_ups (expires_at);

create table account_deletions (
    user_id uuid primary key,
    state text not null check (state in ('cancelling', 'waiting', 'telling', 'erasing', 'done')),
    requested_at timestamptz not null,
    -- Who asked for it, and what invitees are told; until it is done.
    requested_by jsonb,
    message text,
    -- From then on nothing is waited for any more.
    finish_by timestamptz not null,
    cancelled_bookings integer not null default 0,
    finished_at timestamptz,
    check ((state = 'done') = (finished_at is not null)),
    check (state <> 'done' or (requested_by is null and message is null))
);
comment on table account_deletions is
    'Accounts that their owners delete: closed at once, and erased when everything that follows from it has '
    'happened. The row stays after the user''s is gone, as a record without personal data; so it references '
    'nothing.';
create index account_deletions_under_way on account_deletions (requested_at) where state <> 'done';

create table allowance_refusals (
    user_id uuid not null references users on delete cascade,
    cost text not null,
    -- Who had used the allowance up: an account, a network or a mail domain.
    cause text not null,
    refused integer not null,
    most integer not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    primary key (user_id, cost, cause)
);
comment on table allowance_refusals is 'Which costs of a host''s page were last refused, for the host who is told.';
create index allowance_refusals_age on allowance_refusals (last_at);

create table organizations (
    id uuid primary key,
    name text not null,
    slug text not null,
    plan text not null default 'FREE' check (plan in ('FREE', 'PRO', 'BUSINESS')),
    plan_until timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- As that of users.
    plan_origin text check (plan_origin in ('operator', 'subscription'))
);
comment on table organizations is 'Groups of users with a plan, verified domains and administrators.';
create unique index organizations_slug on organizations (lower(slug));

create table organization_settings (
    organization_id uuid primary key references organizations on delete cascade,
    keeps_bookings boolean not null,
    -- Per cent of the members who may leave within an hour before an administrator is asked.
    departure_share smallint not null,
    -- What the assistants of its members may do: everything that a member allows, reading alone, or nothing.
    assistants text not null default 'allowed'
        check (assistants in ('allowed', 'read', 'forbidden'))
);
comment on table organization_settings is
    'What happens to the bookings of those who leave an organization by a provider''s word, and what the '
    'assistants of its members may do.';

create table domains (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    domain text not null check (domain = lower(domain)),
    proof text not null,
    verified_at timestamptz,
    created_at timestamptz not null,
    unique (organization_id, domain)
);
comment on table domains is 'Domains that organizations claim; only one can verify a domain.';
create unique index domains_verified on domains (domain) where verified_at is not null;

create table memberships (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    user_id uuid not null references users on delete cascade,
    role text not null default 'member' check (role in ('owner', 'admin', 'member')),
    active boolean not null default true,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    unique (organization_id, user_id)
);
comment on table memberships is 'Who belongs to which organization.';
create index memberships_user on memberships (user_id);
create index memberships_order on memberships (organization_id, id);
-- Every decision about an organization asks who its owners are, however many members it has.
create index memberships_administrators on memberships (organization_id) where role in ('owner', 'admin');

create table member_counts (
    organization_id uuid primary key references organizations on delete cascade,
    members bigint not null
) with (fillfactor = 50);
comment on table member_counts is
    'How many members an organization has: a list tells it at every page, and must not count anew.';

create function count_added_members() returns trigger language plpgsql as $$
begin
    insert into member_counts as c (organization_id, members)
    select organization_id, count(*) from added group by organization_id order by organization_id
    on conflict (organization_id) do update set members = c.members + excluded.members;
    return null;
end $$;
comment on function count_added_members is
    'Counts members who were added into member_counts, so that no process can forget to.';

create function count_deleted_members() returns trigger language plpgsql as $$
begin
    update member_counts c set members = c.members - d.members
    from (select organization_id, count(*) as members from deleted group by organization_id) d
    where c.organization_id = d.organization_id;
    return null;
end $$;
comment on function count_deleted_members is
    'Takes members who were removed out of member_counts. It only updates: with its organization, the count may be '
    'gone before the members are.';

create function count_no_members() returns trigger language plpgsql as $$
begin
    delete from member_counts;
    return null;
end $$;
comment on function count_no_members is 'Empties member_counts with the memberships.';

create trigger memberships_added after insert on memberships referencing new table as added
    for each statement execute function count_added_members();
comment on trigger memberships_added on memberships is 'The number of members is counted as they are added.';

create trigger memberships_deleted after delete on memberships referencing old table as deleted
    for each statement execute function count_deleted_members();
comment on trigger memberships_deleted on memberships is 'The number of members is counted as they leave.';

create trigger memberships_truncated after truncate on memberships
    for each statement execute function count_no_members();
comment on trigger memberships_truncated on memberships is 'The number of members is gone with all of them.';

create table member_profiles (
    member_id uuid primary key references memberships on delete cascade,
    organization_id uuid not null references organizations on delete cascade,
    -- The attributes as they were sent; null, as no row at all: no provider has sent any, and the account's own are shown.
    profile json,
    version bigint not null,
    -- Null once a provider has removed the member.
    active boolean,
    -- The owner of the account has not accepted yet, and the membership itself is not active.
    pending boolean not null default false,
    -- Why the last invitation was not sent: the limit that was reached; null if it was sent.
    invitation_refused text,
    joined_at timestamptz not null,
    changed_at timestamptz not null
);
comment on table member_profiles is
    'What an identity provider says about a member. The text is kept as it is (json, not jsonb), and the time of '
    'joining is here once more: a list of many members is put together from these rows alone.';
create unique index member_profiles_user_name on member_profiles (organization_id, lower(profile ->> 'userName'));
create index member_profiles_external_id on member_profiles (organization_id, (profile ->> 'externalId'));

create function change_shown_members() returns trigger language plpgsql as $$
begin
    loop
        begin
            insert into member_profiles as p (member_id, organization_id, version, active, joined_at, changed_at)
            select id, organization_id, 2, active, created_at, new.updated_at from memberships where user_id = new.id
            on conflict (member_id) do update set version = p.version + 1, changed_at = excluded.changed_at
            where p.profile is null;
            return null;
        exception when foreign_key_violation then
            -- The next try no longer sees the membership that has ended.
        end;
    end loop;
end $$;
comment on function change_shown_members is
    'A member whom no provider has described changes with the account. A membership may end, with its '
    'organization, while the account of the member is renamed.';

create trigger users_shown_changed after update of name, email on users
    for each row when (old.name <> new.name or old.email <> new.email)
    execute function change_shown_members();
comment on trigger users_shown_changed on users is
    'A member whom no provider has described is shown to the provider as the account is, so a change of the '
    'account is a new version of the member.';

create table invitations (
    id uuid primary key,
    organization_id uuid not null references organizations on delete cascade,
    user_id uuid not null references users on delete cascade,
    hash bytea not null unique,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    used_at timestamptz,
    unique (organization_id, user_id)
);
comment on table invitations is 'Invitations of users to organizations, by the hash of their link.';
create index invitations_user on invitations (user_id);
create index invitations_expiry on invitations (expires_at);

create table sent_invitations (
    id bigint generated always as identity primary key,
    organization_id uuid not null,
    -- The hash of the canonical address.
    recipient bytea not null,
    -- Whether the address is in a domain that the organization has verified.
    own_domain boolean not null,
    at timestamptz not null
);
comment on table sent_invitations is
    'Invitations that were sent, counted for a week. Nothing refers to users or organizations, so that neither '
    'withdrawing an invitation nor deleting an account or an organization makes room for more.';
create index sent_invitations_organization on sent_invitations (organization_id, at);
create index sent_invitations_recipient on sent_invitations (recipient, at);
create index sent_invitations_age on sent_invitations (at);
