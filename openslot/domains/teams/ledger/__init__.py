"""How many bookings each member of a team was given, and why."""
