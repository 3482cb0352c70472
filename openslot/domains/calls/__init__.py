"""Calls: the log of voice calls."""
