// Entry point of the pages with a calendar.
