"""Endpoints that are told of events, and the feed of past ones."""
