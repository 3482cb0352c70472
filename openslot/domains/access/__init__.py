"""Credentials, rate limits and authentication: who may access the service, and how often."""
