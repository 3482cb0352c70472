-- Availability reads what foreign calendars say as plain seconds: to take hundreds of ranges apart costs more than the
-- rest of the answer.
alter table busy_spans
    add column start_second bigint generated always as (extract(epoch from lower(during) at time zone 'UTC')::bigint) stored,
    add column end_second bigint generated always as (extract(epoch from upper(during) at time zone 'UTC')::bigint) stored;
drop index busy_spans_host;
create index busy_spans_host on busy_spans (host_no, end_second, start_second);

-- A host's claims around some days, without the constraint's index, whose ranges are slow to compare.
create index claims_host on claims (host_no, starts_at) where active;
