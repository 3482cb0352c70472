"""Who comes in with a key: all that a door asks of the database."""
