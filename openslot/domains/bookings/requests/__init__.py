"""Bookings that wait for their host's answer."""
