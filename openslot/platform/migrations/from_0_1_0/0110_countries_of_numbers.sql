-- openslot: no transaction
-- The countries that a number sends messages to: two letters each, `*` for every country; none is that of the number.
-- And the messages of a number that nobody has written by hand, which have a limit.

alter table messaging_connections add column if not exists countries text[] not null default '{}';
drop index concurrently if exists messages_of_number;
create index concurrently messages_of_number on messages (connection_id, at)
    where connection_id is not null and purpose is not null and sent_by is null;
