"""Bookings by what people type."""
