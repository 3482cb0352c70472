-- openslot: no transaction
-- Limits by recipient count the addresses of one mailbox together.
drop index concurrently if exists mail_messages_canonical;
create index concurrently mail_messages_canonical
    on mail_messages (canonical_recipient(recipient), created_at) where is_public;
drop index concurrently if exists sign_ups_canonical;
create index concurrently sign_ups_canonical on sign_ups (canonical_recipient(email), created_at);
drop index concurrently if exists password_resets_canonical;
create index concurrently password_resets_canonical on password_resets (canonical_recipient(email), created_at);
