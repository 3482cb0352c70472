-- openslot: no transaction
-- Effects that are planned for a time and belong to no event: known by their reaction and a key, with a payload of their own.

alter table effects alter column event_id drop not null;
alter table effects add column if not exists key text, add column if not exists payload jsonb,
    add column if not exists tenant_id uuid,
    -- Why the try that is under way is the last one: it was planned anew or dropped meanwhile.
    add column if not exists superseded text;

-- One of each waits at a time: whoever plans it again moves it.
create unique index concurrently if not exists effects_planned on effects (reaction, key)
    where state = 'queued' and key is not null;
create index concurrently if not exists effects_key on effects (reaction, key)
    where state in ('queued', 'running', 'dead') and key is not null;
-- Those that are finished go when they are older than events are kept.
create index concurrently if not exists effects_without_event on effects (finished_at)
    where event_id is null and finished_at is not null;
