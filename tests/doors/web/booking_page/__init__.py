"""Tests of the pages of those who book."""
