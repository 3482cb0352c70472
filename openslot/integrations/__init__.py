"""Vendors: calendars, mail and the rest of the world, each behind a port."""
