"""Contacts from files."""
