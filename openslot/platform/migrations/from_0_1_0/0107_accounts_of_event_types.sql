-- The account that invitees pay to, named by each event type that has a price: joining or leaving an organization does
-- not change it. One that was disconnected, or whose organization the owner has left, is not paid to; it is no foreign
-- key, because one that was deleted stays named until the owner chooses another one.
alter table event_types add column payment_connection_id uuid;

-- Who sets a price without naming an account gets the one that is theirs to use now: their own, or else the one that an
-- organization of theirs has connected first.
create function name_payment_account() returns trigger language plpgsql as $$
begin
    if new.price is null then
        new.payment_connection_id := null;
    elsif new.payment_connection_id is null and (tg_op = 'INSERT' or old.price is null) then
        new.payment_connection_id := (
            select c.id from payment_connections c
            where c.disconnected_at is null and (c.user_id = new.owner_id or c.organization_id in (
                select m.organization_id from memberships m where m.user_id = new.owner_id and m.active))
            order by c.user_id is null, c.connected_at, c.id limit 1);
    end if;
    return new;
end $$;
create trigger event_type_names_account before insert or update of price, payment_connection_id on event_types
    for each row execute function name_payment_account();
