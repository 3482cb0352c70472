"""Calendars in the settings."""
