-- openslot: no transaction
-- Event types that have a price already name the account that invitees pay to today. What was filled is not filled
-- again, so that this may be repeated.
do $$
declare
    after uuid := '00000000-0000-0000-0000-000000000000';
    ids uuid[];
begin
    loop
        select array_agg(id order by id) into ids from (
            select id from event_types where id > after and price is not null order by id limit 500) e;
        exit when ids is null;
        update event_types e set payment_connection_id = (
            select c.id from payment_connections c
            where c.disconnected_at is null and (c.user_id = e.owner_id or c.organization_id in (
                select m.organization_id from memberships m where m.user_id = e.owner_id and m.active))
            order by c.user_id is null, c.connected_at, c.id limit 1)
        where e.id = any(ids) and e.payment_connection_id is null;
        after := ids[cardinality(ids)];
        commit;
    end loop;
end $$;
