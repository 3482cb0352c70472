-- openslot: no transaction
-- A confirmed booking never loses its time, whoever writes.

-- A booking that was asked for before its host left an organization, and is made after, is refused.
alter table users add column if not exists left_at timestamptz;

-- What was held of an event type goes with it.
alter table claims
    drop constraint claims_event_type_id_fkey,
    add constraint claims_event_type_id_fkey foreign key (event_type_id) references event_types on delete cascade not valid;
alter table claims validate constraint claims_event_type_id_fkey;

create index concurrently if not exists bookings_seat on bookings (seat_id) where seat_id is not null;

create or replace function keep_booked_time() returns trigger language plpgsql as $$
begin
    if exists (select from bookings where claim_id = new.id and status = 'CONFIRMED') then
        raise integrity_constraint_violation using
            message = format('The claim %s is the time of a confirmed booking.', new.id),
            constraint = 'claims_keep_booked_time';
    end if;
    return null;
end $$;

create or replace function keep_booked_seat() returns trigger language plpgsql as $$
begin
    if exists (select from bookings where seat_id = new.id and status = 'CONFIRMED') then
        raise integrity_constraint_violation using
            message = format('The seat %s is that of a confirmed booking.', new.id),
            constraint = 'claim_seats_keep_booked_seat';
    end if;
    return null;
end $$;

-- At the commit, when a cancellation has reached the booking as well.
drop trigger if exists claims_keep_booked_time on claims;
create constraint trigger claims_keep_booked_time after update of active on claims deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_time();
drop trigger if exists claim_seats_keep_booked_seat on claim_seats;
create constraint trigger claim_seats_keep_booked_seat after update of active on claim_seats
    deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_seat();

-- Upcoming bookings that have lost their time get it back where nobody has taken it since.
do $$
declare
    lost record;
begin
    for lost in
        select b.claim_id, b.seat_id from bookings b join claims c on c.id = b.claim_id
        left join claim_seats t on t.id = b.seat_id
        where b.status = 'CONFIRMED' and b.ends_at > now() and (not c.active or not coalesce(t.active, true))
    loop
        begin
            update claims set active = true, kind = case when kind = 'hold' then 'booking' else kind end,
                expires_at = null, holder = null where id = lost.claim_id;
            update claim_seats set active = true, expires_at = null, holder = null where id = lost.seat_id;
        exception when exclusion_violation then
            raise warning 'The time of claim % is taken by another booking.', lost.claim_id;
        end;
    end loop;
end $$;
