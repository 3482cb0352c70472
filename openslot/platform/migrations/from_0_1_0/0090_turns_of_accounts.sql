-- openslot: no transaction
-- Accounts take turns: what each waits for longest is found without reading what others wait for.
drop index concurrently if exists effects_turns;
create index concurrently effects_turns on effects (tenant_id, next_try_at) where state = 'queued' and not yields;
