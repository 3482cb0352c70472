"""Tests of the booking widget."""
