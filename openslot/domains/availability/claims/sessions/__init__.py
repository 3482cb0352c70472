"""Group sessions: their seats, and the hosts whose time they take."""
