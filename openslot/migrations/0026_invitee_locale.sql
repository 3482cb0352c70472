-- The language in which an invitee is written to; none: the host's.
alter table bookings add column invitee_locale text;
