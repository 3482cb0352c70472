"""Backups: create one file that holds everything, and restore it."""
