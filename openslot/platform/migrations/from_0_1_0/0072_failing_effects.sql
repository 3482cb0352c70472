-- openslot: no transaction
-- What has failed and is tried again is counted by kind and age with every look at the metrics, without reading all that
-- waits. What was planned for a time was created long before it was due, and says nothing about how long it has failed.
drop index concurrently if exists effects_failing;
create index concurrently effects_failing on effects (reaction, created_at)
    where state = 'queued' and yields and attempts > 0 and event_id is not null;
