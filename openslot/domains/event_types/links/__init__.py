"""Links to an event type that are used once or end."""
