-- openslot: no transaction
-- Who has answered a request, for when an account is deleted.

drop index concurrently if exists booking_requests_answered_by;
create index concurrently booking_requests_answered_by on booking_requests (answered_by) where answered_by is not null;
