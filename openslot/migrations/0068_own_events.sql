-- openslot: no transaction
-- Upcoming events that may still have the invitee's link are found, however many past ones there are.
drop index concurrently if exists calendar_events_token;
create index concurrently calendar_events_token on calendar_events (ends_at) where has_token;
