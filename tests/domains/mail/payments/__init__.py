"""Mails about payments and plans."""
