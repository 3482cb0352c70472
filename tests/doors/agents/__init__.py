"""Tests of the agents' tool server."""
