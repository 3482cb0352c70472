"""Tests of `openslot/domains/calendars`."""
