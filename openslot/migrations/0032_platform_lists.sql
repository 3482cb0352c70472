-- openslot: no transaction
-- What lists over all users need: an order by time, a search over everyone's contacts, and how many contacts there are.

drop index concurrently if exists bookings_start;
create index concurrently bookings_start on bookings (starts_at desc, id desc) include (status);

-- The trigrams of everyone's contacts, without an owner.
drop index concurrently if exists contacts_search_all;
create index concurrently contacts_search_all on contacts
    using gin (contact_grams('00000000-0000-0000-0000-000000000000'::uuid, search_text)) with (fastupdate = on);
alter index contacts_search_all alter column 1 set statistics 0;

-- How many contacts each user has. The database keeps it itself, so that no process can forget to.
create table if not exists contact_counts (
    owner_id uuid primary key references users on delete cascade,
    contacts bigint not null
) with (fillfactor = 50);

create or replace function count_added_contacts() returns trigger language plpgsql as $$
begin
    insert into contact_counts as c (owner_id, contacts)
    select owner_id, count(*) from added group by owner_id order by owner_id
    on conflict (owner_id) do update set contacts = c.contacts + excluded.contacts;
    return null;
end $$;
-- It only updates: with the owner's account, the count may be gone before the contacts are.
create or replace function count_deleted_contacts() returns trigger language plpgsql as $$
begin
    update contact_counts c set contacts = c.contacts - d.contacts
    from (select owner_id, count(*) as contacts from deleted group by owner_id) d
    where c.owner_id = d.owner_id;
    return null;
end $$;
create or replace function count_no_contacts() returns trigger language plpgsql as $$
begin
    delete from contact_counts;
    return null;
end $$;
create or replace trigger contacts_added after insert on contacts referencing new table as added
    for each statement execute function count_added_contacts();
create or replace trigger contacts_deleted after delete on contacts referencing old table as deleted
    for each statement execute function count_deleted_contacts();
create or replace trigger contacts_truncated after truncate on contacts
    for each statement execute function count_no_contacts();

-- One user at a time. Whoever adds or deletes a contact meanwhile waits for the user's count, and adds to what was counted
-- without it; whoever came first is waited for, and counted by the next statement.
do $$
declare
    owner record;
begin
    for owner in select id from users order by no loop
        set local synchronous_commit = off;
        set local lock_timeout = '60s';
        perform from users where id = owner.id for key share;
        if found then
            insert into contact_counts (owner_id, contacts) values (owner.id, 0) on conflict (owner_id) do nothing;
            perform from contact_counts where owner_id = owner.id for update;
            update contact_counts set contacts = (select count(*) from contacts where owner_id = owner.id)
            where owner_id = owner.id;
        end if;
        commit;
    end loop;
end $$;
