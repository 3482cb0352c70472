-- Any host of a team, its managers and the owner of the event type answer a request, and the first answer counts.

alter table booking_requests add column answered_by uuid references users on delete set null;

-- What was counted for a request is given back if it does not become a booking.
alter table credit_entries drop constraint credit_entries_reason_check;
alter table credit_entries add constraint credit_entries_reason_check check (reason in (
    'booked', 'series', 'held', 'rescheduled', 'reassigned', 'replaced', 'cancelled', 'declined', 'withdrawn', 'lapsed',
    'no_show', 'came', 'expired', 'left')) not valid;
