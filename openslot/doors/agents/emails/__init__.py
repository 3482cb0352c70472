"""Emails that agents write."""
