-- openslot: no transaction
-- What lists over all users need: an order by time, a search over everyone's contacts, and how many contacts there are.

drop index concurrently if exists bookings_start;
create index concurrently bookings_start on bookings (starts_at desc, id desc) include (status);

-- The trigrams of everyone's contacts, without an owner.
drop index concurrently if exists contacts_search_all;
create index concurrently contacts_search_all on contacts
    using gin (contact_grams('00000000-0000-0000-0000-000000000000'::uuid, search_text)) with (fastupdate = on);
alter index contacts_search_all alter column 1 set statistics 0;

-- How many contacts there are, as the sum of all rows. The database keeps it itself, so that no process can forget to. Each
-- connection counts in a row of its own, by its process: nobody who adds a contact waits for another who does.
create table if not exists contact_counts (
    stripe integer primary key,
    contacts bigint not null
) with (fillfactor = 50);

create or replace function count_contacts(more bigint) returns void language sql as $$
    insert into contact_counts as c (stripe, contacts) values (pg_backend_pid() % 1024, more)
    on conflict (stripe) do update set contacts = c.contacts + excluded.contacts;
$$;
create or replace function count_added_contacts() returns trigger language plpgsql as $$
begin
    perform count_contacts((select count(*) from added));
    return null;
end $$;
create or replace function count_deleted_contacts() returns trigger language plpgsql as $$
begin
    perform count_contacts(-(select count(*) from deleted));
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

-- Those that were there before, in one statement that sees contacts and counts at the same moment; nobody waits for it.
insert into contact_counts (stripe, contacts)
select -1, (select count(*) from contacts) - (select coalesce(sum(contacts), 0) from contact_counts where stripe <> -1)
on conflict (stripe) do update set contacts = excluded.contacts;
