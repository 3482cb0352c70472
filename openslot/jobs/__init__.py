"""Runs what was deferred; knows no domain."""
