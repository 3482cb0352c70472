"""The wait list: people who wait for a day or a session that is full, and the free times that they are offered."""
