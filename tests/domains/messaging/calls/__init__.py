"""Calls through connected numbers."""
