"""Tests of the team chat."""
