-- openslot: no transaction
-- The spans of one event of a source are found to be replaced.
drop index concurrently if exists busy_spans_source;
create index concurrently busy_spans_source on busy_spans (source_id, uid);
