-- The same as in 0068, with a check that looks each of those who were read up: joined, all users were read in order.
create or replace function claim_hosts(
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
