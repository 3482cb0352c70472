"""Availability: which starts of an event type may be booked, and why the others may not."""
