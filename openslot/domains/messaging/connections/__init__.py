"""Numbers of message providers that hosts and organizations connect."""
