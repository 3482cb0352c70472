-- How many upcoming bookings of an event type one email address can have; null: as many as it wants.
alter table event_types add column limit_per_invitee integer;
