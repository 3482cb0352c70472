"""Tests of messages that go out."""
