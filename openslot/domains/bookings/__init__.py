"""Bookings: meetings that are made, moved and cancelled."""
