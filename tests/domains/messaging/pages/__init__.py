"""Pages of numbers for messages and calls."""
