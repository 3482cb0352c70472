"""Bookings that were made together and repeat."""
