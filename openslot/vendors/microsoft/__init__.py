"""Microsoft: calendars and video calls."""
