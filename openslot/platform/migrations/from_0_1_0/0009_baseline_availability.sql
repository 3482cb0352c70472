-- Time that is taken: ours, which never overlaps, and what foreign calendars say.

-- Time of a host that is held, booked or waits for a payment, or a group session.
create table claims (
    id uuid primary key,
    host_no bigint not null references users (no) on delete cascade,
    kind text not null check (kind in ('hold', 'booking', 'payment', 'session')),
    -- What was held of an event type goes with it.
    event_type_id uuid references event_types on delete cascade,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    -- With the buffers of the event type.
    during tstzrange not null,
    seats integer not null default 1 check (seats > 0),
    active boolean not null default true,
    expires_at timestamptz,
    -- Who holds it, and from which network.
    holder text,
    holder_network text,
    created_at timestamptz not null,
    check (starts_at < ends_at),
    check (during @> tstzrange(starts_at, ends_at)),
    -- A range of one number stands for the number, so that no extension is needed.
    constraint claims_never_overlap
        exclude using gist (int8range(host_no, host_no, '[]') with =, during with &&) where (active)
);
-- A host's claims around some days, without the constraint's index, whose ranges are slow to compare.
create index claims_host on claims (host_no, starts_at) where active;
create index claims_type on claims (event_type_id, starts_at);
create index claims_expiry on claims (expires_at) where active and expires_at is not null;
create index claims_held_by on claims (holder, expires_at) where holder is not null;
create index claims_held_from on claims (holder_network, expires_at) where holder is not null;
-- What is left of holds and of sessions that nobody sits in.
create index claims_left_holds on claims (expires_at) where kind = 'hold' and not active;
create index claims_left_sessions on claims (ends_at) where kind = 'session' and not active;

-- A confirmed booking never loses its time, whoever writes. Checked at the commit, when a cancellation has reached the
-- booking as well.
create function keep_booked_time() returns trigger language plpgsql as $$
begin
    if exists (select from bookings where claim_id = new.id and status = 'CONFIRMED') then
        raise integrity_constraint_violation using
            message = format('The claim %s is the time of a confirmed booking.', new.id),
            constraint = 'claims_keep_booked_time';
    end if;
    return null;
end $$;
create constraint trigger claims_keep_booked_time after update of active on claims deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_time();

-- Who sits in a group session: a booking, or a hold until it expires.
create table claim_seats (
    id uuid primary key,
    claim_id uuid not null references claims on delete cascade,
    active boolean not null default true,
    expires_at timestamptz,
    holder text,
    holder_network text,
    created_at timestamptz not null
);
create index claim_seats_session on claim_seats (claim_id);
create index claim_seats_expiry on claim_seats (expires_at) where active and expires_at is not null;
create index claim_seats_held_by on claim_seats (holder, expires_at) where holder is not null;
create index claim_seats_held_from on claim_seats (holder_network, expires_at) where holder is not null;
create index claim_seats_left_holds on claim_seats (expires_at) where not active and expires_at is not null;

create function keep_booked_seat() returns trigger language plpgsql as $$
begin
    if exists (select from bookings where seat_id = new.id and status = 'CONFIRMED') then
        raise integrity_constraint_violation using
            message = format('The seat %s is that of a confirmed booking.', new.id),
            constraint = 'claim_seats_keep_booked_seat';
    end if;
    return null;
end $$;
create constraint trigger claim_seats_keep_booked_seat after update of active on claim_seats
    deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_seat();

-- Where busy spans come from: a calendar of somebody else's, read now and then.
create table busy_sources (
    id uuid primary key,
    host_no bigint not null references users (no) on delete cascade,
    name text not null,
    -- From then on its host is taken for busy all the time, unless it is read again before; null: never.
    closes_at timestamptz
);
create index busy_sources_host on busy_sources (host_no, closes_at);

-- When a host is busy by a foreign calendar; a span is known by its source and the name that the source has for it.
create table busy_spans (
    id bigint generated always as identity primary key,
    host_no bigint not null references users (no) on delete cascade,
    source_id uuid references busy_sources on delete cascade,
    source text not null,
    uid text not null,
    during tstzrange not null,
    -- As plain seconds: to take hundreds of ranges apart costs more than the rest of the answer.
    start_second bigint generated always as (extract(epoch from lower(during) at time zone 'UTC')::bigint) stored,
    end_second bigint generated always as (extract(epoch from upper(during) at time zone 'UTC')::bigint) stored,
    -- The claim or seat of the booking whose own event the host has made longer: that booking may move into the added time.
    of_claim uuid
);
create index busy_spans_host on busy_spans (host_no, end_second, start_second);
-- The spans of one event of a source are found to be replaced.
create index busy_spans_source on busy_spans (source_id, uid);
