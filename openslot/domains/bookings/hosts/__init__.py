"""The hosts of a booking."""
