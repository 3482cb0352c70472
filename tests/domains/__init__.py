"""Tests of domains."""
