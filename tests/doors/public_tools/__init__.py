"""Tests of the public tool server."""
