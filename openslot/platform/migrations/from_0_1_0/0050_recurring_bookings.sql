-- openslot: no transaction
-- Bookings that repeat every week.

-- For how many weeks invitees can book at once; null: one booking at a time.
alter table event_types add column if not exists recurring_weeks integer;
-- What the bookings that were made at once have in common; null: it was made alone.
alter table bookings add column if not exists series_id uuid;
drop index concurrently if exists bookings_series;
create index concurrently bookings_series on bookings (series_id) where series_id is not null;
