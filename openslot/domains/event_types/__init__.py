"""Event types: what can be booked."""
