-- When an identity provider deleted a team for which something is booked: it does not see the team any more, and an
-- administrator decides.
alter table teams add column held_at timestamptz;
