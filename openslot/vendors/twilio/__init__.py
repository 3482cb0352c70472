"""Twilio: SMS, WhatsApp and notices of calls over its REST API."""
