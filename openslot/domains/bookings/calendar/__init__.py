"""Bookings of days and months."""
