"""Tests of signing up, new passwords and sessions."""
