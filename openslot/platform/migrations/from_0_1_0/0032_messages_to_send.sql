-- openslot: no transaction
-- Messages that wait to be sent, and how many somebody has got.

drop index concurrently if exists messages_to_send;
create index concurrently messages_to_send on messages (conversation_id, at, id) where status in ('queued', 'sending');
-- The limit of messages to one number counts those of all hosts.
drop index concurrently if exists conversations_phone;
create index concurrently conversations_phone on conversations (contact_phone, last_message_at);
