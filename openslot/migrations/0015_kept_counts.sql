-- Counts that lists read instead of counting anew, and what stays of an event when it is deleted.

-- How many bookings of each status a host has. The database keeps it itself, so that no process can forget to. Whoever
-- changes a host's bookings holds the host's lock already: nobody waits for these rows. Hosts that had bookings before get
-- theirs with the next migration.
create table booking_counts (
    host_id uuid not null references users on delete cascade,
    status text not null,
    bookings bigint not null,
    primary key (host_id, status)
) with (fillfactor = 50);

create function count_added_bookings() returns trigger language plpgsql as $$
begin
    insert into booking_counts as c (host_id, status, bookings)
    select host_id, status, count(*) from added group by host_id, status order by host_id, status
    on conflict (host_id, status) do update set bookings = c.bookings + excluded.bookings;
    return null;
end $$;

-- It only updates: with its host's account, a host's counts may be gone before the bookings are.
create function count_deleted_bookings() returns trigger language plpgsql as $$
begin
    update booking_counts c set bookings = c.bookings - d.bookings
    from (select host_id, status, count(*) as bookings from deleted group by host_id, status) d
    where c.host_id = d.host_id and c.status = d.status;
    return null;
end $$;

create function count_changed_booking() returns trigger language plpgsql as $$
begin
    update booking_counts set bookings = bookings - 1 where host_id = old.host_id and status = old.status;
    insert into booking_counts as c (host_id, status, bookings) values (new.host_id, new.status, 1)
    on conflict (host_id, status) do update set bookings = c.bookings + 1;
    return null;
end $$;

create function count_no_bookings() returns trigger language plpgsql as $$
begin
    delete from booking_counts;
    return null;
end $$;

create trigger bookings_added after insert on bookings referencing new table as added
    for each statement execute function count_added_bookings();
create trigger bookings_deleted after delete on bookings referencing old table as deleted
    for each statement execute function count_deleted_bookings();
create trigger bookings_changed after update of status, host_id on bookings
    for each row when (old.status <> new.status or old.host_id <> new.host_id)
    execute function count_changed_booking();
create trigger bookings_truncated after truncate on bookings
    for each statement execute function count_no_bookings();

-- What happened to a booking, when and by whom, once the events themselves are too old to be kept.
create table booking_history (
    booking_id uuid not null references bookings on delete cascade,
    no bigint not null,
    type text not null,
    at timestamptz not null,
    actor jsonb not null,
    primary key (booking_id, no)
);

-- Whoever deletes an event leaves a line in its booking's history, and ends the feed in front of it: from a place that is
-- still there, nothing is missing.
create function forget_events() returns trigger language plpgsql as $$
begin
    insert into booking_history (booking_id, no, type, at, actor)
    select b.id, d.no, d.type, d.at, d.actor from deleted d join bookings b on b.id = d.subject_id
    where d.subject_kind = 'booking'
    for key share of b;
    delete from event_feed f
    using (select p.tenant_id, max(p.no) as no from deleted d join event_feed p on p.event_id = d.id group by p.tenant_id) l
    where f.tenant_id = l.tenant_id and f.no < l.no;
    return null;
end $$;
create trigger events_deleted after delete on events referencing old table as deleted
    for each statement execute function forget_events();
