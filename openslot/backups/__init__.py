"""Backups: one file with everything in it, and the way back."""
