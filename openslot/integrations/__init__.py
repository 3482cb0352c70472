"""Vendors and outside services, each behind a port of the domain that needs it."""
