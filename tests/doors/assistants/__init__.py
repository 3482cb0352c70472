"""Tests of assistants that people connect."""
