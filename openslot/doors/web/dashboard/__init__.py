"""Pages for hosts who are signed in."""
