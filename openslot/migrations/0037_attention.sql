-- openslot: no transaction
-- What has failed for one host, found without looking at what has failed for others.

create index concurrently if not exists effects_failed on effects (event_id) where state = 'dead';
create index concurrently if not exists effects_failed_plans on effects (tenant_id) where state = 'dead' and event_id is null;
