"""Conversations: message threads by SMS and WhatsApp."""
