"""Pages about when a host can be booked: schedules, other hours, time away, holidays, and why a time is closed."""
