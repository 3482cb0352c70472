-- Where invitees are sent when they have booked; null: to the page of their booking.
alter table event_types add column redirect_url text;
