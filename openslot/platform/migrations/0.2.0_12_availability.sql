-- Time that is taken: ours, which never overlaps, and what foreign calendars say.

create table claims (
    id uuid primary key,
    host_no bigint not null references users (no) on delete cascade,
    kind text not null check (kind in ('hold', 'booking', 'payment', 'request', 'session', 'offer')),
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
comment on table claims is
    'Time of a host that is held, booked or offered, or waits for a payment or a confirmation, or a group session.';
-- A host's claims around some days, without the constraint's index, whose ranges are slow to compare.
create index claims_host on claims (host_no, starts_at) where active;
create index claims_type on claims (event_type_id, starts_at);
create index claims_expiry on claims (expires_at) where active and expires_at is not null;
create index claims_held_by on claims (holder, expires_at) where holder is not null;
create index claims_held_from on claims (holder_network, expires_at) where holder is not null;
-- What is left of holds and of sessions that nobody sits in.
create index claims_left_holds on claims (expires_at) where kind = 'hold' and not active;
create index claims_left_sessions on claims (ends_at) where kind = 'session' and not active;

create function keep_booked_time() returns trigger language plpgsql as $$
begin
    if exists (select from bookings where claim_id = new.id and status = 'CONFIRMED')
        or exists (select from booking_hosts h join bookings b on b.id = h.booking_id
                   where h.claim_id = new.id and b.status = 'CONFIRMED') then
        raise integrity_constraint_violation using
            message = format('The claim %s is the time of a confirmed booking.', new.id),
            constraint = 'claims_keep_booked_time';
    end if;
    return null;
end $$;
comment on function keep_booked_time is
    'Refuses to switch off a claim while it is the time of a host of a confirmed booking: such a booking never '
    'loses its time, whoever writes. It runs at the commit, when a cancellation has reached the booking as well.';

create constraint trigger claims_keep_booked_time after update of active on claims deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_time();
comment on trigger claims_keep_booked_time on claims is 'The time of a confirmed booking can''t be given back.';

create table claim_seats (
    id uuid primary key,
    claim_id uuid not null references claims on delete cascade,
    active boolean not null default true,
    expires_at timestamptz,
    holder text,
    holder_network text,
    created_at timestamptz not null
);
comment on table claim_seats is 'Who sits in a group session: a booking, or a hold until it expires.';
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
comment on function keep_booked_seat is
    'Refuses to switch off a seat while it is that of a confirmed booking. It runs at the commit, when a '
    'cancellation has reached the booking as well.';

create constraint trigger claim_seats_keep_booked_seat after update of active on claim_seats
    deferrable initially deferred
    for each row when (old.active and not new.active) execute function keep_booked_seat();
comment on trigger claim_seats_keep_booked_seat on claim_seats is
    'The seat of a confirmed booking can''t be given back.';

create table busy_sources (
    id uuid primary key,
    host_no bigint not null references users (no) on delete cascade,
    name text not null,
    -- From then on its host is taken for busy all the time, unless it is read again before; null: never.
    closes_at timestamptz
);
comment on table busy_sources is 'Where busy spans come from: a calendar of somebody else''s, read now and then.';
create index busy_sources_host on busy_sources (host_no, closes_at);

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
comment on table busy_spans is
    'When a host is busy by a foreign calendar; a span is known by its source and the name that the source has for '
    'it.';
create index busy_spans_host on busy_spans (host_no, end_second, start_second);
-- The spans of one event of a source are found to be replaced.
create index busy_spans_source on busy_spans (source_id, uid);
-- Of the spans that begin before the end of what is asked for, only those of more than a day end more than a day after
-- it: without them, a start is judged by the spans around it alone, however far a calendar was read ahead.
create index busy_spans_long on busy_spans (host_no, end_second, start_second)
    where end_second - start_second > 86400;

create table host_changes (
    host_no bigint not null,
    -- 64 random bits: no other change has the same, on any server, after any restore.
    token bigint not null default hashtextextended(gen_random_uuid()::text, 0),
    primary key (host_no, token)
);
comment on table host_changes is
    'Each change of a host''s time leaves a token here, whoever makes it: what was found out about the host may be '
    'kept for as long as the tokens are the same. Rows are only inserted, so that writers never wait for each '
    'other; when a host has many, a job replaces all that it sees by one (decision 72).';

create function note_hosts() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct host_no from changed;
    return null;
end $$;
comment on function note_hosts is 'Leaves a token for the hosts whose rows have changed.';

create function note_hosts_of_claims() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct host_no from changed where active;
    return null;
end $$;
comment on function note_hosts_of_claims is 'Leaves a token for the hosts whose active claims have changed.';

create function note_hosts_of_seats() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct c.host_no from claims c join changed x on x.claim_id = c.id;
    return null;
end $$;
comment on function note_hosts_of_seats is 'Leaves a token for the hosts of the sessions whose seats have changed.';

create function note_owners() returns trigger language plpgsql as $$
begin
    insert into host_changes (host_no) select distinct u.no from users u join changed x on x.owner_id = u.id;
    return null;
end $$;
comment on function note_owners is 'Leaves a token for the owners of rows that have changed.';

-- What is changed is both what it was and what it is: a claim may go to another host.
do $$
declare
    watched text[];
    operation text[];
begin
    foreach watched slice 1 in array array[
        ['schedules', 'note_owners'], ['out_of_office', 'note_owners'], ['busy_sources', 'note_hosts'],
        ['busy_spans', 'note_hosts'], ['claim_seats', 'note_hosts_of_seats'], ['claims', 'note_hosts_of_claims']]
    loop
        foreach operation slice 1 in array array[
            ['inserted', 'insert', 'new'], ['updated_from', 'update', 'old'], ['updated_to', 'update', 'new'],
            ['deleted', 'delete', 'old']]
        loop
            execute format(
                'create trigger %I after %s on %I referencing %s table as changed for each statement '
                'execute function %I()',
                watched[1] || '_host_' || operation[1], operation[2], watched[1], operation[3], watched[2]);
            execute format('comment on trigger %I on %I is %L', watched[1] || '_host_' || operation[1], watched[1],
                'What is known of free times is worked out anew.');
        end loop;
    end loop;
end $$;

create function claim_hosts(
    locked int[], seen_nos bigint[], seen_versions bigint[], claim_ids uuid[], host_nos bigint[],
    starts timestamptz[], ends timestamptz[], befores timestamptz[], afters timestamptz[], claim_kind text,
    claim_event_type uuid, claim_expires timestamptz, claim_holder text, claim_network text, claim_made timestamptz,
    claim_seats int
) returns boolean language plpgsql as $$
declare
    locked_no int;
begin
    foreach locked_no in array locked loop
        perform take_turn(1, locked_no);
    end loop;
    if exists (
        select from unnest(seen_nos, seen_versions) as seen (host_no, version)
        where seen.version is distinct from (
                select bit_xor(x.token) from host_changes x where x.host_no = seen.host_no)
           or not exists (
                select from users u where u.no = seen.host_no and (u.left_at is null or u.left_at <= claim_made) offset 0))
    then
        raise sqlstate 'OSHST';
    end if;
    -- The first claim alone has a holder: however many hosts it takes, it is one hold of an address.
    insert into claims (id, host_no, kind, event_type_id, starts_at, ends_at, during, seats, expires_at, holder,
        holder_network, created_at)
    select w.id, w.host_no, claim_kind, claim_event_type, w.starts_at, w.ends_at, tstzrange(w.before, w.after),
           claim_seats, claim_expires, case when w.place = 1 then claim_holder end,
           case when w.place = 1 then claim_network end, claim_made
    from unnest(claim_ids, host_nos, starts, ends, befores, afters)
        with ordinality as w (id, host_no, starts_at, ends_at, before, after, place);
    return true;
exception when exclusion_violation or sqlstate 'OSHST' then
    return false;
end
$$;
comment on function claim_hosts is
    'Takes the time of hosts of a team in one round trip: some are locked, in the given order, and the claims are '
    'inserted if nobody of those who were read before has another version by then, or has left since (decision '
    '69). Each of its statements begins when the locks are held, so it sees all that was committed before them. If '
    'the answer is no, nothing was done, and the locks are given back.';
