"""Holds: time that is kept for a while for who is filling in a form, or waits."""
