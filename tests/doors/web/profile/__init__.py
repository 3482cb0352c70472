"""Tests of the profile page."""
