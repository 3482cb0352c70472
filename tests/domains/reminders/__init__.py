"""Tests of reminders and follow-ups."""
