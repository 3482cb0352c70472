"""Tests of the pages about availability."""
