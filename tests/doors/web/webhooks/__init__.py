"""Tests of the webhook pages."""
