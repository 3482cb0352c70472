"""Pages with which hosts look after their event types."""
