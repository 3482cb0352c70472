"""The door for people: pages, rendered on the server."""
