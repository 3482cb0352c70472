"""Tests of `openslot/integrations/calendars`."""
