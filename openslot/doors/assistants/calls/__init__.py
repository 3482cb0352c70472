"""Calls of users' assistants."""
