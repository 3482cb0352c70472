-- Earlier releases have written the invitee's link into the host's calendar; until it is taken out, this says so.
alter table calendar_events add column has_token boolean not null default true;

-- The claim or seat of the booking whose own event the host has made longer: that booking may move into the added time.
alter table busy_spans add column of_claim uuid;
