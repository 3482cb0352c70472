"""Tests of the pages of event types."""
