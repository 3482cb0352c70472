"""Runs deferred work; knows no domain."""
