"""Tests of the second factor."""
