"""Tests of analytics."""
