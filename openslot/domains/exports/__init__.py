"""Everything that is kept about a user, as one file for that user."""
