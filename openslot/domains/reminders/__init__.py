"""Reminders and follow-ups: what people are written before and after a meeting, whichever channel carries it."""
