-- openslot: no transaction
-- The figures of a day count its meetings and no-shows: with the mark in the index they need no row of the table.
drop index concurrently if exists bookings_by_start;
create index concurrently bookings_by_start on bookings (starts_at desc, id desc) include (status, no_show);
drop index concurrently if exists bookings_start;
