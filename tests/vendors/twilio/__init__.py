"""Twilio."""
