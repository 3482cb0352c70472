"""Mails by what they are about."""
