"""Messaging: SMS, WhatsApp and calls through providers that somebody else runs."""
