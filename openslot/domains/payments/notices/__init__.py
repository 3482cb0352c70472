"""Notices of payment providers."""
