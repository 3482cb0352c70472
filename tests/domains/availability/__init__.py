"""Tests of the engine and its oracle."""
