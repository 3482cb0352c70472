"""Which payment account an event type names."""
