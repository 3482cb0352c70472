"""Tests of the pages of organizations."""
