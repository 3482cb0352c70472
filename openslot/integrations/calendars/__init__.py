"""Calendars of others: what they say is busy, and the bookings that are written into them."""
