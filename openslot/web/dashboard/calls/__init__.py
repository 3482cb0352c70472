"""Pages: calls."""
