"""A reader of calendars that shares no code with the product: where the two differ, one of them is wrong."""
