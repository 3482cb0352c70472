"""Tests of event types."""
