"""Messages that wait to be sent."""
