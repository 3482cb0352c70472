"""Webhook endpoints that receive events, and the feed of past events."""
