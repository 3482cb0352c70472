"""Time of a host that is taken, for whatever reason."""
