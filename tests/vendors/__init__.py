"""Tests of vendors."""
