"""Assistants that people connect: an OAuth 2.1 authorization server, and the door of those who were let in."""
