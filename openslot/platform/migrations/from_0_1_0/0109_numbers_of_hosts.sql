-- The number that a host writes from on each channel: joining or leaving an organization does not change it. One that
-- was disconnected, or whose organization the host has left, is not used; it is no foreign key, because one that was
-- deleted stays named until the host chooses another one.
create table host_numbers (
    user_id uuid not null references users on delete cascade,
    channel text not null,
    connection_id uuid not null,
    primary key (user_id, channel)
);
create index host_numbers_connection on host_numbers (connection_id);

-- Whoever connects a number uses it; members of an organization that connects one use it if they have named none.
create function name_number_of_connection() returns trigger language plpgsql as $$
begin
    if new.user_id is not null then
        insert into host_numbers (user_id, channel, connection_id) values (new.user_id, new.channel, new.id)
        on conflict (user_id, channel) do update set connection_id = excluded.connection_id;
    else
        insert into host_numbers (user_id, channel, connection_id)
        select m.user_id, new.channel, new.id from memberships m
        where m.organization_id = new.organization_id and m.active order by m.user_id
        on conflict do nothing;
    end if;
    return null;
end $$;
create trigger messaging_connection_names_number after insert on messaging_connections
    for each row when (new.disconnected_at is null) execute function name_number_of_connection();

create function name_number_of_member() returns trigger language plpgsql as $$
begin
    insert into host_numbers (user_id, channel, connection_id)
    select new.user_id, c.channel, c.id from messaging_connections c
    where c.organization_id = new.organization_id and c.disconnected_at is null
    on conflict do nothing;
    return null;
end $$;
create trigger membership_names_number after insert or update of active on memberships
    for each row when (new.active) execute function name_number_of_member();

-- What each host uses today.
insert into host_numbers (user_id, channel, connection_id)
select distinct on (u.user_id, c.channel) u.user_id, c.channel, c.id
from messaging_connections c cross join lateral (
    select c.user_id where c.user_id is not null
    union all
    select m.user_id from memberships m where m.organization_id = c.organization_id and m.active) u
where c.disconnected_at is null
order by u.user_id, c.channel, c.user_id is null, c.connected_at, c.id;
