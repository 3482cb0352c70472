"""Webhooks in the dashboard: endpoints, what was sent to them, and sending it again."""
