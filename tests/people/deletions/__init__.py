"""Deletion of accounts."""
