"""Pages of the settings: calendars."""
