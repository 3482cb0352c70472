"""Pages of contacts."""
