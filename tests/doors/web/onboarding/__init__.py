"""Tests of the first steps."""
