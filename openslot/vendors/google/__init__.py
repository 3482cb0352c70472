"""Google: calendars and video calls."""
