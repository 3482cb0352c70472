-- Meetings that were made.

-- Each booking, with the invitee as they were when they booked.
create table bookings (
    id uuid primary key,
    host_id uuid not null references users on delete cascade,
    event_type_id uuid not null references event_types,
    contact_id uuid references contacts on delete set null,
    claim_id uuid not null references claims,
    seat_id uuid references claim_seats,
    status text not null check (status in ('CONFIRMED', 'CANCELLED', 'PENDING_PAYMENT')),
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    invitee_name text not null,
    invitee_email text not null,
    invitee_zone text not null,
    -- The language in which the invitee is written to; null: the host's.
    invitee_locale text,
    notes text,
    location jsonb not null,
    answers jsonb not null,
    guests text[] not null default '{}',
    payment jsonb,
    -- Counts the changes, for calendar programs.
    sequence integer not null default 0,
    reschedule_count integer not null default 0,
    previous_starts_at timestamptz,
    cancelled_at timestamptz,
    cancel_reason text,
    cancelled_by text,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    check (starts_at < ends_at),
    check ((status = 'CANCELLED') = (cancelled_at is not null))
);
create index bookings_host on bookings (host_id, starts_at desc, id desc) include (status);
create index bookings_start on bookings (starts_at desc, id desc) include (status);
create index bookings_contact on bookings (contact_id, starts_at desc);
create index bookings_event_type on bookings (event_type_id);
create index bookings_claim on bookings (claim_id);
create index bookings_seat on bookings (seat_id) where seat_id is not null;

-- How many bookings of each status a host has. The database keeps it itself, so that no process can forget to. Whoever
-- changes a host's bookings holds the host's lock already: nobody waits for these rows.
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
