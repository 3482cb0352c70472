"""Accounts of payment providers that hosts and organizations connect."""
