-- The hosts of a series are chosen once, and each of its bookings counts for them.

alter table assignments drop constraint assignments_reason_check;
alter table assignments add constraint assignments_reason_check
    check (reason in ('booked', 'series', 'held', 'rescheduled', 'reassigned', 'replaced')) not valid;
alter table credit_entries drop constraint credit_entries_reason_check;
alter table credit_entries add constraint credit_entries_reason_check check (reason in (
    'booked', 'series', 'held', 'rescheduled', 'reassigned', 'replaced', 'cancelled', 'no_show', 'came', 'expired',
    'left')) not valid;
