"""Schedules: when a host works."""
