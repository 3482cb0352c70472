"""Reminders as messages to phones."""
