-- openslot: no transaction
-- Hashes of the private tokens that are there, and indexes of all that is still kept in the clear: jobs find it by them.

do $$
declare
    each record;
begin
    for each in select id from event_types where private_token is not null and private_hash is null loop
        set local lock_timeout = '60s';
        update event_types set private_token = private_token where id = each.id and private_hash is null;
        commit;
    end loop;
end $$;

create index concurrently if not exists event_types_in_clear on event_types (id)
    where private_token <> E'kept as a hash only\n';
create index concurrently if not exists events_in_clear on events (no) where fact ->> 'manage_url' <> '';
create index concurrently if not exists webhook_messages_in_clear on webhook_messages (event_id) where body is not null;
create index concurrently if not exists webhook_deliveries_in_clear on webhook_deliveries (id)
    where substring(answer from 1 for 7) <> 'sealed:';
