"""Payments: money for bookings, through a checkout that somebody else runs."""
