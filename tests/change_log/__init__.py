"""Tests of the change log."""
