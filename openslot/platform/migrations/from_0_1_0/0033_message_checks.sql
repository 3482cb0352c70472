-- openslot: no transaction
-- The provider is asked what became of messages whose delivery nobody has reported; and which messages were dropped.

alter table messages
    -- How often the provider was asked.
    add column if not exists status_checks smallint not null default 0;
drop index concurrently if exists messages_to_check;
create index concurrently messages_to_check on messages (asked_at) where status = 'sent' and vendor_id is not null;
drop index concurrently if exists messages_dropped;
create index concurrently messages_dropped on messages (updated_at, id) where status = 'canceled' and vendor_id is null;
