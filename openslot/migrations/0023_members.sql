-- openslot: no transaction
-- What identity providers keep of an organization's members, who closed an account, and how many members there are.

-- An account that an organization has closed may be opened by it again. Both are believed only while `suspended_at` is the
-- very moment of `disabled_at`: an operator's word is never undone by a provider.
alter table users
    add column if not exists suspended_by uuid,
    add column if not exists suspended_at timestamptz;

create table if not exists organization_settings (
    organization_id uuid primary key references organizations on delete cascade,
    keeps_bookings boolean not null,
    departure_share smallint not null
);

-- What a provider says about a member. `profile` holds the attributes as they were sent; null, as no row at all: no provider
-- has sent any, and the account's own are shown. `active` is null once a provider has removed it. `pending`: the owner of the
-- account has not accepted yet, and the membership itself is not active. The text is kept as it is (json, not jsonb), and the
-- time of joining is here once more: a list of many members is put together from these rows alone.
create table if not exists member_profiles (
    member_id uuid primary key references memberships on delete cascade,
    organization_id uuid not null references organizations on delete cascade,
    profile json,
    version bigint not null,
    active boolean,
    pending boolean not null default false,
    joined_at timestamptz not null,
    changed_at timestamptz not null
);
create unique index concurrently if not exists member_profiles_user_name
    on member_profiles (organization_id, lower(profile ->> 'userName'));
create index concurrently if not exists member_profiles_external_id
    on member_profiles (organization_id, (profile ->> 'externalId'));
create index concurrently if not exists memberships_order on memberships (organization_id, id);

-- A member whom no provider has described changes with the account.
create or replace function change_shown_members() returns trigger language plpgsql as $$
begin
    insert into member_profiles as p (member_id, organization_id, version, active, joined_at, changed_at)
    select id, organization_id, 2, active, created_at, new.updated_at from memberships where user_id = new.id
    on conflict (member_id) do update set version = p.version + 1, changed_at = excluded.changed_at
    where p.profile is null;
    return null;
end $$;
create or replace trigger users_shown_changed after update of name, email on users
    for each row when (old.name <> new.name or old.email <> new.email)
    execute function change_shown_members();

-- How many members an organization has: a list tells it at every page, and must not count anew.
create table if not exists member_counts (
    organization_id uuid primary key references organizations on delete cascade,
    members bigint not null
) with (fillfactor = 50);

create or replace function count_added_members() returns trigger language plpgsql as $$
begin
    insert into member_counts as c (organization_id, members)
    select organization_id, count(*) from added group by organization_id order by organization_id
    on conflict (organization_id) do update set members = c.members + excluded.members;
    return null;
end $$;
-- It only updates: with its organization, the count may be gone before the members are.
create or replace function count_deleted_members() returns trigger language plpgsql as $$
begin
    update member_counts c set members = c.members - d.members
    from (select organization_id, count(*) as members from deleted group by organization_id) d
    where c.organization_id = d.organization_id;
    return null;
end $$;
create or replace function count_no_members() returns trigger language plpgsql as $$
begin
    delete from member_counts;
    return null;
end $$;
create or replace trigger memberships_added after insert on memberships referencing new table as added
    for each statement execute function count_added_members();
create or replace trigger memberships_deleted after delete on memberships referencing old table as deleted
    for each statement execute function count_deleted_members();
create or replace trigger memberships_truncated after truncate on memberships
    for each statement execute function count_no_members();

-- Nobody joins or leaves while the few there are get counted.
do $$
begin
    lock table memberships in share row exclusive mode;
    delete from member_counts;
    insert into member_counts (organization_id, members)
    select organization_id, count(*) from memberships group by organization_id;
end $$;
