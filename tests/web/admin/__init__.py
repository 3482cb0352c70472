"""Tests of the administration."""
