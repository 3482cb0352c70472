"""Pages of connected CRMs."""
