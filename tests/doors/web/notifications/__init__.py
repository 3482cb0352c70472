"""Tests of the notifications page."""
