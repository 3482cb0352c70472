-- Who is known to a host is decided by what was proven, not by an address that somebody has typed.

-- Whether the invitee's address was proven when it was booked: by a code, a session or the link of a mail. Null: by an
-- earlier release, or it was not asked for.
alter table bookings add column email_proven boolean;
