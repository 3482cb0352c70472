"""Credentials, limits and the front door: who comes in, and how often."""
