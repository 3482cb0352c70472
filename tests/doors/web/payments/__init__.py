"""Pages of payments."""
