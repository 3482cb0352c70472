-- Bookings that their host confirms or declines.

-- Whether invitees ask for a time, and the host confirms it.
alter table event_types add column requires_confirmation boolean not null default false;

-- What an invitee has asked for. The booking waits as PENDING_CONFIRMATION, with its time taken; it stays so if the
-- request ends in any other way than by a confirmation.
create table booking_requests (
    booking_id uuid primary key references bookings on delete cascade,
    host_id uuid not null references users on delete cascade,
    state text not null check (state in ('waiting', 'confirmed', 'declined', 'lapsed', 'withdrawn')),
    -- Until when the host can answer.
    lapses_at timestamptz not null,
    -- Why it was declined; null: the host has not said.
    reason text,
    ended_at timestamptz,
    check ((state = 'waiting') = (ended_at is null))
);
create index booking_requests_host on booking_requests (host_id);
create index booking_requests_waiting on booking_requests (lapses_at) where state = 'waiting';
create index booking_requests_ended on booking_requests (ended_at) where state not in ('waiting', 'confirmed');

-- Requests that have ended without a booking do not keep their event type from being deleted.
create or replace function delete_unpaid_bookings() returns trigger language plpgsql as $$
begin
    delete from bookings b using payments p
    where b.event_type_id = old.id and b.status = 'PENDING_PAYMENT'
      and p.booking_id = b.id and p.state = 'released' and p.next_read_at is null;
    delete from bookings b using booking_requests r
    where b.event_type_id = old.id and b.status = 'PENDING_CONFIRMATION'
      and r.booking_id = b.id and r.state <> 'waiting';
    return old;
end $$;

-- A booking counts on the day on which it was asked for, once it is confirmed.
create or replace function mark_changed_booking() returns trigger language plpgsql as $$
declare
    days date[] := '{}';
begin
    if (old.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION'), old.created_at, old.host_id, old.source)
            is distinct from
            (new.status in ('PENDING_PAYMENT', 'PENDING_CONFIRMATION'), new.created_at, new.host_id, new.source) then
        days := days || utc_day(old.created_at) || utc_day(new.created_at);
    end if;
    if old.cancelled_at is distinct from new.cancelled_at then
        days := days || utc_day(old.cancelled_at) || utc_day(new.cancelled_at);
    end if;
    if (old.status, old.starts_at, old.no_show) is distinct from (new.status, new.starts_at, new.no_show) then
        days := days || utc_day(old.starts_at) || utc_day(new.starts_at);
    end if;
    perform mark_stale_days(days);
    return null;
end $$;

alter table claims drop constraint claims_kind_check;
alter table claims add constraint claims_kind_check
    check (kind in ('hold', 'booking', 'payment', 'request', 'session')) not valid;
alter table bookings drop constraint bookings_status_check;
alter table bookings add constraint bookings_status_check
    check (status in ('CONFIRMED', 'CANCELLED', 'PENDING_PAYMENT', 'PENDING_CONFIRMATION')) not valid;
