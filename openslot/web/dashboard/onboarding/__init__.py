"""The first steps of a new user: time zone, hours, calendar, and the link to share."""
