-- Where the visitor who booked came from, as visits are counted; null: not booked by a page, or before it was recorded.
-- It is the host's: no fact, mail or webhook has it.
alter table bookings add column source text;
